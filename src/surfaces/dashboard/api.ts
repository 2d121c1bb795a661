/** The responses of the dashboard's API, as types that the page is compiled against. Times are milliseconds since 1970. */

export type RoleName = "read" | "write" | "admin";

/** GET /api/me */
export interface Me {
  readonly principal: string;
  readonly kind: "operator" | "token" | "jwt";
  readonly role: RoleName;
  /** The existing namespaces that the caller may read. */
  readonly namespaces: readonly string[];
  /** How many more exist if there are too many to list; each has its own address. */
  readonly namespacesOmitted?: number;
  readonly defaultNamespace: string;
  /** True: the server accepts no writes. */
  readonly readOnly: boolean;
  readonly version: string;
  readonly engine: string;
}

/** What kind of thing a change is about. */
export type Kind = "state" | "lease" | "workflow" | "effect" | "session" | "checkpoint" | "knowledge" | "other";

/** One change of one thing: a row of the activity list, and the data of a `change` event. */
export interface ActivityItem {
  readonly revision: number;
  readonly atMs: number;
  readonly kind: Kind;
  /** The operation in a word or two: "set", "claimed", "step 4". */
  readonly operation: string;
  /** The key, resource, run or note that changed. */
  readonly subject: string;
  /** A readable name if the subject is an id: a run's name, the beginning of a journal entry, a research question. */
  readonly title?: string;
  readonly writer: string;
  readonly agent?: string;
  /** For kind "checkpoint": where it was written. */
  readonly written?: "journal" | "research";
  /** A renewal, which shows that a holder is alive but is not news. Only in events, and in the activity list if requested. */
  readonly heartbeat?: boolean;
  /** The number of equal changes in a row that this item represents; absent = 1. */
  readonly times?: number;
}

/** GET /api/ns/:namespace/activity?before=REVISION&limit=N&kind=KIND&subject=BEGINNING&who=NAME (`who`: exactly this writer or agent; heartbeats=true also lists renewals) */
export interface ActivityAnswer {
  readonly items: readonly ActivityItem[];
  /** Pass it as `before`; absent on the last page. */
  readonly next?: number;
}

/**
 * GET /api/ns/:namespace/events?after=REVISION, server-sent: `hello`, `change` (an ActivityItem) and `compacted` (read everything again: earlier changes are no
 * longer stored, or were too many to report one by one; the stream continues from there). `after`: a revision, or the id of the last event received.
 */
export interface Hello {
  readonly revision: number;
}
export interface CompactedAnswer {
  readonly revision: number;
}

export type RunStatusName = "created" | "claimed" | "running" | "done" | "failed" | "cancelled";

/** GET /api/ns/:namespace/overview?range=15m|1h|6h|24h|7d (how far back commits and leases are shown; default 1h) */
export interface Overview {
  readonly nowMs: number;
  readonly rangeMs: number;
  readonly revision: number;
  /** `runsHeld`: held by an agent now; `runsWaiting`: unfinished, without a holder. */
  readonly counts: {
    readonly keys: number;
    readonly runs: number;
    readonly runsHeld: number;
    readonly runsWaiting: number;
    readonly leases: number;
    readonly waiting: number;
    readonly journal: number;
    readonly notes: number;
    readonly research: number;
  };
  /** How many of the newest `of` runs failed. No index lists every failed run. */
  readonly failedRuns: { readonly count: number; readonly of: number };
  /** The range in sixty equal steps (a minute each for an hour), oldest first. `through`: the last revision of each step. `complete`: false if history does not reach back that far. `estimated`: the hour was very busy; the numbers become more exact with each response. */
  readonly commitsPerMinute: {
    readonly complete: boolean;
    readonly estimated?: boolean;
    readonly minutes: readonly { readonly atMs: number; readonly commits: number; readonly through: number }[];
  };
  /** Runs that ended within the range, newest first. Only the newest runs are considered. */
  readonly runDurations: readonly { readonly runId: string; readonly name: string; readonly status: RunStatusName; readonly startedAtMs: number; readonly endedAtMs: number }[];
  /** Who held what within the range; a span without an end is held now. `leaseOccupancySinceMs`: earlier times were not read, so a gap there means nothing. */
  readonly leaseOccupancyComplete?: boolean;
  readonly leaseOccupancySinceMs?: number;
  readonly leaseOccupancy: readonly {
    readonly resource: string;
    /** For a claim: the name of its run. */
    readonly title?: string;
    readonly spans: readonly { readonly holder: string; readonly fromMs: number; readonly untilMs?: number }[];
  }[];
  /** The number of resources in all, of which `leaseOccupancy` lists the first, and how many of them are held now. */
  readonly leaseOccupancyOf: { readonly resources: number; readonly heldNow: number };
  /** Recently active agents, newest first; `agentsMore`: there were more than these. */
  readonly agentsMore: boolean;
  readonly agents: readonly { readonly agent: string; readonly writer: string; readonly lastAtMs: number; readonly lastDid: string; readonly holds: number }[];
  /** What needs a person's attention, each with the reason. `token` (of a run) and `lease` are needed to cancel or release it. */
  readonly stuck: readonly {
    readonly kind: "run" | "lease" | "effect";
    readonly id: string;
    readonly title?: string;
    readonly why: string;
    readonly sinceMs: number;
    readonly token?: number;
    readonly lease?: LeaseRow;
  }[];
  readonly health: HealthAnswer;
}

/** GET /api/ns/:namespace/health */
export interface HealthAnswer {
  readonly status: "ok" | "error";
  readonly engine: string;
  readonly durability: string;
  /** About the whole store for callers that may use every namespace, otherwise about this namespace. */
  readonly facts: Readonly<Record<string, unknown>>;
  readonly warnings: readonly { readonly about: string; readonly says: string }[];
}

export type EffectStateName = "unknown" | "intended" | "done" | "failed";

/** GET /api/ns/:namespace/effects?state=&run=&cursor=&limit= (unknown ones first, then those in flight, then the newest) */
export interface EffectsAnswer {
  readonly nowMs: number;
  readonly effects: readonly EffectRow[];
  readonly next?: string;
}
export interface EffectRow {
  readonly id: string;
  readonly state: EffectStateName;
  readonly scope?: string;
  readonly run?: string;
  readonly step?: number | string;
  readonly ordinal?: number;
  readonly tool: string;
  readonly name?: string;
  /** The beginning of the arguments' JSON. */
  readonly args: string;
  readonly attempts: number;
  /** Of the last attempt; resolving names it. */
  readonly token: number;
  readonly begunAtMs: number;
  readonly agent?: string;
  readonly liveUntilMs?: number;
  readonly endedAtMs?: number;
  readonly keptUntilMs?: number;
  readonly reason?: string;
  /** Whose word ended it, where its owner never reported. */
  readonly resolved?: "caller" | "policy";
  readonly writer: string;
}

/** GET /api/ns/:namespace/effect?id= */
export interface EffectShown {
  readonly effect: EffectRow;
  /** The answer of one that is done, the error of one that failed. */
  readonly answer?: unknown;
  readonly answerKept?: boolean;
}

/** POST /api/ns/:namespace/effects/resolve {id, as, token, reason?} */
export interface EffectResolution {
  readonly state: EffectStateName;
}

/** GET /api/ns/:namespace/keys?prefix=&cursor=&limit= */
export interface KeysPage {
  readonly keys: readonly KeyRow[];
  readonly total: number;
  readonly next?: string;
}
export interface KeyRow {
  readonly key: string;
  readonly version: number;
  readonly updatedAtMs: number;
  readonly expiresAtMs?: number;
  /** The beginning of the value's JSON. */
  readonly preview: string;
}

/** GET /api/ns/:namespace/folders?prefix=: for the keys that begin with `prefix`, their next part including its `/`, each once, in key order. */
export interface FoldersView {
  readonly folders: readonly string[];
  /** There are more folders than were read. */
  readonly more: boolean;
}

/** GET /api/ns/:namespace/key?key=&before=REVISION&limit= (for older versions, pass the last revision shown as `before`) */
export interface KeyView {
  readonly key: string;
  readonly found: boolean;
  readonly value: unknown;
  readonly version: number;
  readonly updatedAtMs?: number;
  readonly expiresAtMs?: number;
  /** The authenticated writer, and the name the caller gave itself. Absent if the key does not exist. */
  readonly writer?: string;
  readonly agent?: string;
  /** Newest first, as far as history reaches; `more`: there are older ones. */
  readonly versions: readonly VersionView[];
  readonly more: boolean;
}
export interface VersionView {
  readonly version: number;
  readonly revision: number;
  readonly atMs: number;
  readonly operation: string;
  readonly writer: string;
  readonly agent?: string;
  /** Absent if the key was deleted or expired, or if the value is no longer stored. */
  readonly value?: unknown;
  /** The values of these versions were too large to send together; state_get with `version` reads this one. */
  readonly omitted?: boolean;
}

/** GET /api/ns/:namespace/runs?status=&tag=NAME=VALUE&cursor=&limit= */
export interface RunsPage {
  readonly runs: readonly RunRow[];
  readonly next?: string;
}
export interface RunRow {
  readonly runId: string;
  readonly name: string;
  readonly status: RunStatusName;
  readonly tags: Readonly<Record<string, string>>;
  readonly agent?: string;
  readonly lastStep: number;
  readonly attempts: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** When the first worker claimed it; absent if none has, or if the run is older than this field. */
  readonly startedAtMs?: number;
  readonly priority?: number;
  readonly claimExpiresAtMs?: number;
  /** The current or last holder's token: pass it to `runs/return` and `runs/cancel`. */
  readonly token?: number;
}

/** GET /api/ns/:namespace/run?id=&stepsBefore=STEP */
export interface RunDetail {
  readonly run: RunRow;
  readonly input?: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
  readonly steps: readonly { readonly step: number; readonly atMs: number; readonly output: unknown; readonly writer: string; readonly agent?: string }[];
  readonly moreSteps: boolean;
  /** The run's events, oldest first. */
  readonly timeline: readonly {
    readonly atMs: number;
    readonly revision: number;
    readonly what: "created" | "claimed" | "taken over" | "renewed" | "lapsed" | "returned" | "step" | "done" | "failed" | "cancelled" | "changed";
    readonly step?: number;
    readonly writer: string;
    readonly agent?: string;
    readonly token?: number;
    /** Consecutive renewals, combined into one event. */
    readonly times?: number;
  }[];
  /** False: there were more events than were read, or older ones are no longer stored; the newest are included. */
  readonly timelineComplete?: boolean;
}

/**
 * Operator actions on a lease or run that another agent holds. The token is the one shown to the operator, so an agent that took over since keeps its hold (409 `lease_lost`).
 * POST /api/ns/:namespace/leases/release {resource, token}; POST …/runs/return {runId, token}; POST …/runs/cancel {runId, token?, reason?} (no token: it had no holder).
 */
export interface SteppedIn {
  readonly revision: number;
}

/** POST /api/ns/:namespace/notes/change {name, version, content?, keywords?, source?, status?, trust?}: omitted fields keep their values; 409 `conflict` if the version is no longer current. */
export interface NoteChanged {
  readonly name: string;
  readonly version: number;
}

/** GET /api/ns/:namespace/leases?cursor=&limit= */
export interface LeasesAnswer {
  readonly nowMs: number;
  readonly leases: readonly LeaseRow[];
  readonly more: boolean;
  readonly next?: string;
}
export interface LeaseRow {
  readonly resource: string;
  readonly holder: string;
  readonly token: number;
  readonly heldSinceMs: number;
  readonly expiresAtMs: number;
  readonly waiting: number;
  /** The queue, first come first. */
  readonly waiters?: readonly string[];
  /** For a claim: its run and the run's name. */
  readonly runId?: string;
  readonly runName?: string;
}

/**
 * GET /api/ns/:namespace/journal?workspace=&who=&tag=&q=&before=&limit=; with id=ID only that entry. `who`: exactly this writer or agent;
 * `q`: text in the description, context, highlights, files or branch, ignoring case. With a filter that matches few entries, a page may be short or empty and still have a next page.
 */
export interface JournalPage {
  readonly entries: readonly JournalRow[];
  readonly workspaces: readonly { readonly id: string; readonly name: string }[];
  readonly next?: string;
  /** With `id`: the entries before and after it in its workspace. */
  readonly older?: string;
  readonly newer?: string;
}
export interface JournalRow {
  readonly id: string;
  readonly atMs: number;
  readonly workspace: string;
  readonly text: string;
  /** The writer's notes on the current work. */
  readonly context?: string;
  /** Visible in every workspace. */
  readonly global?: boolean;
  readonly highlights: readonly string[];
  readonly branch?: string;
  readonly commit?: string;
  /** What the entry belongs to: a connection, a terminal, a client's conversation. */
  readonly session: string;
  readonly files: readonly string[];
  readonly tags: readonly string[];
  readonly writer: string;
  readonly agent?: string;
}

/** GET /api/ns/:namespace/notes?status=&cursor=&limit= */
export interface NotesPage {
  readonly notes: readonly NoteRow[];
  readonly next?: string;
}
export interface NoteRow {
  readonly name: string;
  readonly title: string;
  readonly status: string;
  readonly trust: string;
  readonly skill?: string;
  readonly source?: string;
  readonly content: string;
  /** The `id` for `save_knowledge`: the name without its skill. */
  readonly id: string;
  readonly keywords: readonly string[];
  readonly supersedes?: string;
  readonly supersededBy?: string;
  readonly version: number;
  readonly updatedAtMs: number;
  readonly writer: string;
  readonly agent?: string;
}

/** GET /api/ns/:namespace/note?name=; `not_found` if it does not exist. */
export interface NoteView {
  readonly note: NoteRow;
  /** Newest first, as far as history reaches; each value is the stored note. */
  readonly versions: readonly VersionView[];
  readonly more: boolean;
}

/** GET /api/ns/:namespace/research?cursor=&limit= */
export interface ResearchPage {
  readonly checkpoints: readonly { readonly id: string; readonly atMs: number; readonly question: string; readonly thesis: string; readonly confidence?: number }[];
  readonly next?: string;
}

/** GET /api/ns/:namespace/checkpoint?id=; `not_found` if it does not exist. Fields without a value are absent, never null. */
export interface ResearchAnswer {
  readonly id: string;
  readonly atMs: number;
  readonly writer: string;
  readonly agent?: string;
  readonly question: string;
  readonly thesis: string;
  readonly confidence: number;
  readonly trigger: string;
  readonly openQuestions: readonly string[];
  readonly sources: readonly { readonly id: string; readonly type: string; readonly take: string; readonly relation: string }[];
  readonly tensions: readonly { readonly between: readonly string[]; readonly nature: string; readonly resolution: string }[];
  readonly contributions: readonly { readonly type: string; readonly content: string }[];
  readonly action?: { readonly goal: string; readonly type: string };
  readonly skill?: string;
  readonly workspace?: string;
  /** The id of the checkpoint that this one continues. */
  readonly continues?: string;
}

/** GET /api/ns/:namespace/search?q= */
export interface SearchResults {
  readonly hits: readonly {
    readonly kind: HitKind;
    readonly id: string;
    readonly title: string;
    readonly excerpt: string;
    readonly atMs: number;
  }[];
  /** The kinds for which more was found than is shown. */
  readonly more: readonly HitKind[];
  /** The kinds that were not searched completely, and how many items were searched: the newest runs, the first keys and leases. */
  readonly looked: Readonly<Partial<Record<HitKind, number>>>;
}
export type HitKind = "key" | "run" | "lease" | "journal" | "note" | "research";

/** GET /api/tools */
export interface ToolsView {
  readonly tools: readonly {
    readonly name: string;
    readonly title: string;
    readonly description: string;
    readonly effect: string;
    readonly toolset: string;
    /** JSON Schema. */
    readonly input: Readonly<Record<string, unknown>>;
  }[];
}

/** POST /api/ns/:namespace/tools/:tool with the arguments: returns the tool's result, or an error with its status. */
export type ToolAnswer = Readonly<Record<string, unknown>>;

/** The body of every error response. */
export interface ApiError {
  readonly error: { readonly code: string; readonly message: string; readonly hint?: string; readonly details?: Readonly<Record<string, unknown>> };
}

/** GET /api/tokens, POST /api/tokens (returns the secret, once), DELETE /api/tokens/:id; for admins. */
export interface TokensAnswer {
  readonly tokens: readonly TokenRow[];
}
export interface TokenRow {
  readonly id: string;
  readonly name: string;
  readonly role: RoleName;
  readonly namespaces: readonly string[] | "*";
  readonly createdAtMs: number;
  readonly createdBy: string;
  readonly expiresAtMs?: number;
  readonly lastUsedAtMs?: number;
  readonly revokedAtMs?: number;
}
export interface NewTokenRequest {
  readonly name: string;
  readonly role: RoleName;
  readonly namespaces: readonly string[] | "*";
  readonly expiresAtMs?: number;
}
export interface CreatedToken {
  readonly token: TokenRow;
  readonly secret: string;
}
