/** What the dashboard's API answers, as types that the page is compiled against. Times are milliseconds since 1970. */

export type RoleName = "read" | "write" | "admin";

/** GET /api/me */
export interface Me {
  readonly principal: string;
  readonly kind: "operator" | "token" | "jwt";
  readonly role: RoleName;
  /** Those that exist and the caller may read. */
  readonly namespaces: readonly string[];
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
  readonly writer: string;
  readonly agent?: string;
}

/** GET /api/ns/:namespace/activity?before=REVISION&limit=N&kind=KIND */
export interface ActivityPage {
  readonly items: readonly ActivityItem[];
  /** Give it back as `before`; absent at the end of what is kept. */
  readonly next?: number;
}

/** GET /api/ns/:namespace/events?after=REVISION, server-sent: `hello`, `change` (an ActivityItem) and `compacted` (read everything again). */
export interface Hello {
  readonly revision: number;
}

export type RunStatusName = "created" | "claimed" | "running" | "done" | "failed" | "cancelled";

/** GET /api/ns/:namespace/overview */
export interface Overview {
  readonly nowMs: number;
  readonly revision: number;
  readonly counts: {
    readonly keys: number;
    readonly runs: number;
    readonly leases: number;
    readonly waiting: number;
    readonly journal: number;
    readonly notes: number;
    readonly research: number;
  };
  /** Of the newest runs (how many were looked at is `looked`). */
  readonly runsByStatus: { readonly looked: number; readonly byStatus: Readonly<Record<RunStatusName, number>> };
  /** The last sixty minutes, oldest first. `complete`: false where history does not reach back that far or was too much to read. */
  readonly commitsPerMinute: { readonly complete: boolean; readonly minutes: readonly { readonly atMs: number; readonly commits: number }[] };
  /** Ended runs, newest first. */
  readonly runDurations: readonly { readonly runId: string; readonly name: string; readonly status: RunStatusName; readonly startedAtMs: number; readonly endedAtMs: number }[];
  /** Who held what in the last sixty minutes; an open end is held now. */
  readonly leaseOccupancy: readonly { readonly resource: string; readonly spans: readonly { readonly holder: string; readonly fromMs: number; readonly untilMs?: number }[] }[];
  /** Who was active lately, newest first. */
  readonly agents: readonly { readonly agent: string; readonly writer: string; readonly lastAtMs: number; readonly lastDid: string; readonly holds: number }[];
  /** What a person should look at, each with why. */
  readonly stuck: readonly { readonly kind: "run" | "lease"; readonly id: string; readonly why: string; readonly sinceMs: number }[];
  readonly health: HealthView;
}

export interface HealthView {
  readonly status: "ok" | "error";
  readonly engine: string;
  readonly durability: string;
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

/** GET /api/ns/:namespace/key?key= */
export interface KeyView {
  readonly key: string;
  readonly found: boolean;
  readonly value: unknown;
  readonly version: number;
  readonly updatedAtMs?: number;
  readonly expiresAtMs?: number;
  readonly updatedBy?: string;
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
  readonly claimExpiresAtMs?: number;
  readonly token?: number;
}

/** GET /api/ns/:namespace/run?id= */
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
  }[];
}

/** GET /api/ns/:namespace/leases */
export interface LeasesView {
  readonly nowMs: number;
  readonly leases: readonly LeaseRow[];
  readonly more: boolean;
}
export interface LeaseRow {
  readonly resource: string;
  readonly holder: string;
  readonly token: number;
  readonly heldSinceMs: number;
  readonly expiresAtMs: number;
  readonly waiting: number;
  /** The run whose claim this is. */
  readonly runId?: string;
}

/** GET /api/ns/:namespace/journal?workspace=&before=&limit= */
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
  readonly version: number;
  readonly updatedAtMs: number;
  readonly updatedBy: string;
}

/** GET /api/ns/:namespace/research?cursor=&limit= */
export interface ResearchPage {
  readonly checkpoints: readonly { readonly id: string; readonly atMs: number; readonly question: string; readonly thesis: string; readonly confidence?: number }[];
  readonly next?: string;
}

/** GET /api/ns/:namespace/search?q= */
export interface SearchView {
  readonly hits: readonly { readonly kind: "key" | "run" | "lease" | "journal" | "note" | "research"; readonly id: string; readonly title: string; readonly excerpt: string; readonly atMs: number }[];
}

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
export interface TokensView {
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
export interface NewToken {
  readonly name: string;
  readonly role: RoleName;
  readonly namespaces: readonly string[] | "*";
  readonly expiresAtMs?: number;
}
export interface CreatedToken {
  readonly token: TokenRow;
  readonly secret: string;
}
