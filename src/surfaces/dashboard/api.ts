/** What the dashboard's API answers, as types that the page is compiled against. Times are milliseconds since 1970. */

export type RoleName = "read" | "write" | "admin";

/** GET /api/me */
export interface Me {
  readonly principal: string;
  readonly kind: "operator" | "token" | "jwt";
  readonly role: RoleName;
  /** Those that exist and the caller may read. */
  readonly namespaces: readonly string[];
  /** So many more, where there are too many to name; each is at its own address. */
  readonly namespacesOmitted?: number;
  readonly defaultNamespace: string;
  /** True: the server takes no change at all. */
  readonly readOnly: boolean;
  readonly version: string;
  readonly engine: string;
}

/** What kind of thing a change is about. */
export type Kind = "state" | "lease" | "workflow" | "session" | "checkpoint" | "knowledge" | "other";

/** One change of one thing: a row of the activity list, and the data of a `change` event. */
export interface ActivityItem {
  readonly revision: number;
  readonly atMs: number;
  readonly kind: Kind;
  /** What was done, in a word or two: "set", "claimed", "step 4". */
  readonly operation: string;
  /** The key, resource, run or note it was done to. */
  readonly subject: string;
  /** What people call it, where the subject is an id: a run's name, the beginning of a journal entry, a research question. */
  readonly title?: string;
  readonly writer: string;
  readonly agent?: string;
  /** Of kind "checkpoint": where it was written. */
  readonly written?: "journal" | "research";
  /** A renewal: a sign of life and not news. Only in events, and in the activity list when asked for. */
  readonly heartbeat?: boolean;
  /** How many equal changes in a row it represents; absent = 1. */
  readonly times?: number;
}

/** GET /api/ns/:namespace/activity?before=REVISION&limit=N&kind=KIND&subject=BEGINNING&who=NAME (`who`: exactly this writer or agent; heartbeats=true also lists renewals) */
export interface ActivityAnswer {
  readonly items: readonly ActivityItem[];
  /** Give it back as `before`; absent at the end of what is kept. */
  readonly next?: number;
}

/**
 * GET /api/ns/:namespace/events?after=REVISION, server-sent: `hello`, `change` (an ActivityItem) and `compacted` (read everything again: what came before is no
 * longer kept, or was too much to report one by one; the stream continues from there). `after`: a revision, or the id of the last event received.
 */
export interface Hello {
  readonly revision: number;
}
export interface CompactedAnswer {
  readonly revision: number;
}

export type RunStatusName = "created" | "claimed" | "running" | "done" | "failed" | "cancelled";

/** GET /api/ns/:namespace/overview?range=15m|1h|6h|24h|7d (how far back commits and leases are shown; 1h when absent) */
export interface Overview {
  readonly nowMs: number;
  readonly rangeMs: number;
  readonly revision: number;
  /** `runsHeld`: by an agent now; `runsWaiting`: unfinished, without a holder. */
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
  /** How many of the newest `of` runs failed: no index has every failed run. */
  readonly failedRuns: { readonly count: number; readonly of: number };
  /** The range in sixty equal steps, of a minute each for an hour, oldest first. `through`: the revision that each step ended with. `complete`: false where history does not reach back that far. `estimated`: of a very busy hour, close at first and closer with each answer. */
  readonly commitsPerMinute: {
    readonly complete: boolean;
    readonly estimated?: boolean;
    readonly minutes: readonly { readonly atMs: number; readonly commits: number; readonly through: number }[];
  };
  /** Runs that ended within the range, of the newest ones, newest first. */
  readonly runDurations: readonly { readonly runId: string; readonly name: string; readonly status: RunStatusName; readonly startedAtMs: number; readonly endedAtMs: number }[];
  /** Who held what within the range; an open end is held now. `leaseOccupancySinceMs`: earlier times were not read, so a gap there means nothing. */
  readonly leaseOccupancyComplete?: boolean;
  readonly leaseOccupancySinceMs?: number;
  readonly leaseOccupancy: readonly {
    readonly resource: string;
    /** The name of the run whose claim it is. */
    readonly title?: string;
    readonly spans: readonly { readonly holder: string; readonly fromMs: number; readonly untilMs?: number }[];
  }[];
  /** How many resources that were in all, of which `leaseOccupancy` has the first, and how many of them are held now. */
  readonly leaseOccupancyOf: { readonly resources: number; readonly heldNow: number };
  /** Who was active lately, newest first; `agentsMore`: there were more than these. */
  readonly agentsMore: boolean;
  readonly agents: readonly { readonly agent: string; readonly writer: string; readonly lastAtMs: number; readonly lastDid: string; readonly holds: number }[];
  /** What a person should look at, each with why. `token` of a run and `lease`: what cancelling or releasing it needs. */
  readonly stuck: readonly {
    readonly kind: "run" | "lease";
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
  /** Of the whole store for who may use every namespace, of this one for others. */
  readonly facts: Readonly<Record<string, unknown>>;
  readonly warnings: readonly { readonly about: string; readonly says: string }[];
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

/** GET /api/ns/:namespace/folders?prefix=: the next part, up to and with its `/`, of the keys that begin with `prefix`, each once, in key order. */
export interface FoldersView {
  readonly folders: readonly string[];
  /** There are more than were looked for. */
  readonly more: boolean;
}

/** GET /api/ns/:namespace/key?key=&before=REVISION&limit= (older versions: `before` the last revision shown) */
export interface KeyView {
  readonly key: string;
  readonly found: boolean;
  readonly value: unknown;
  readonly version: number;
  readonly updatedAtMs?: number;
  readonly expiresAtMs?: number;
  /** Who was authenticated, and the name the caller gave itself. Absent when there is no such key. */
  readonly writer?: string;
  readonly agent?: string;
  /** Newest first, as far as history reaches; `more` when there are older ones than these. */
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
  /** Absent when it was deleted or expired, or when the value is no longer kept. */
  readonly value?: unknown;
  /** The values of these versions together were too large to send along; state_get with `version` reads this one. */
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
  /** When the first worker took it; absent when none has, or it was before this was noted. */
  readonly startedAtMs?: number;
  readonly priority?: number;
  readonly claimExpiresAtMs?: number;
  /** Of the present or last holder: give it back with `runs/return` and `runs/cancel`. */
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
  /** Oldest first: what happened to the run. */
  readonly timeline: readonly {
    readonly atMs: number;
    readonly revision: number;
    readonly what: "created" | "claimed" | "taken over" | "renewed" | "lapsed" | "returned" | "step" | "done" | "failed" | "cancelled" | "changed";
    readonly step?: number;
    readonly writer: string;
    readonly agent?: string;
    readonly token?: number;
    /** Renewals in a row, told as one. */
    readonly times?: number;
  }[];
  /** False: there was more than was looked at, or it is no longer kept; the newest are here. */
  readonly timelineComplete?: boolean;
}

/**
 * What a person does to another's hold: the token is the one that was shown, so that an agent that took over since keeps its hold (409 `lease_lost`).
 * POST /api/ns/:namespace/leases/release {resource, token}; POST …/runs/return {runId, token}; POST …/runs/cancel {runId, token?, reason?} (no token: it had no holder).
 */
export interface SteppedIn {
  readonly revision: number;
}

/** POST /api/ns/:namespace/notes/change {name, version, content?, keywords?, source?, status?, trust?}: what is left out stays; 409 `conflict` when it has another version by now. */
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
  /** Who waits, first come first. */
  readonly waiters?: readonly string[];
  /** The run whose claim this is, and what people call it. */
  readonly runId?: string;
  readonly runName?: string;
}

/**
 * GET /api/ns/:namespace/journal?workspace=&who=&tag=&q=&before=&limit=; with id=ID that one entry alone. `who`: exactly this writer or agent;
 * `q`: in the text, its context, highlights, files or branch, whatever the case. A page of a filter that matches little may be short, or empty, and have a next one.
 */
export interface JournalPage {
  readonly entries: readonly JournalRow[];
  readonly workspaces: readonly { readonly id: string; readonly name: string }[];
  readonly next?: string;
}
export interface JournalRow {
  readonly id: string;
  readonly atMs: number;
  readonly workspace: string;
  readonly text: string;
  /** What the writer said beside it about the current work. */
  readonly context?: string;
  /** Written for every workspace. */
  readonly global?: boolean;
  readonly highlights: readonly string[];
  readonly branch?: string;
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
  /** What `save_knowledge` takes as `id`: the name without its skill. */
  readonly id: string;
  readonly keywords: readonly string[];
  readonly supersedes?: string;
  readonly supersededBy?: string;
  readonly version: number;
  readonly updatedAtMs: number;
  readonly writer: string;
  readonly agent?: string;
}

/** GET /api/ns/:namespace/note?name=; `not_found` when there is none. */
export interface NoteView {
  readonly note: NoteRow;
  /** Newest first, as far as history reaches; a value is the note as it is stored. */
  readonly versions: readonly VersionView[];
  readonly more: boolean;
}

/** GET /api/ns/:namespace/research?cursor=&limit= */
export interface ResearchPage {
  readonly checkpoints: readonly { readonly id: string; readonly atMs: number; readonly question: string; readonly thesis: string; readonly confidence?: number }[];
  readonly next?: string;
}

/** GET /api/ns/:namespace/checkpoint?id=; `not_found` when there is none. Fields without a value are absent, never null. */
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
  /** Of these kinds more was found than is shown. */
  readonly more: readonly HitKind[];
  /** Kinds of which there is more than was looked through, and how many were: the newest runs, the first keys and leases. */
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

/** POST /api/ns/:namespace/tools/:tool with the arguments: the tool's answer, or an error with its status. */
export type ToolAnswer = Readonly<Record<string, unknown>>;

/** Every failure. */
export interface ApiError {
  readonly error: { readonly code: string; readonly message: string; readonly hint?: string; readonly details?: Readonly<Record<string, unknown>> };
}

/** GET /api/tokens, POST /api/tokens (answers with the secret, once), DELETE /api/tokens/:id; for admins. */
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
