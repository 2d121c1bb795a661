/** The same on every engine, chosen so that every engine can keep them. Units stand last. */
export const limits = {
  /** What callers may name: a state key, a resource, a session. */
  keyBytesMax: 512,
  /** What an engine must take: such a name with the domain's prefix before it. */
  engineKeyBytesMax: 768,
  valueBytesMax: 1_048_576,
  valueDepthMax: 64,
  valueElementsMax: 100_000,
  commitWritesMax: 128,
  commitChecksMax: 256,
  commitBytesMax: 4_194_304,
  /** Log rows of one revision: each write may first log the expiry it met. */
  commitRowsMax: 256,
  /** The highest revision a namespace can have: what the narrowest engine (SQLite, see log-id.ts) can number. */
  revisionMax: 2 ** 43 - 2,
  readEntriesMax: 1_000,
  logRowsMax: 1_000,
  /** Records in one page of a dump. */
  dumpRecordsMax: 1_000,
  namespaceBytesMax: 128,
  /** Terms that make one entry findable. */
  indexTermsMax: 2_000,
  /** Entries looked at for one search: those with the question's rarest terms, the newest first. */
  searchCandidatesMax: 2_000,
  requestKeyBytesMax: 256,
  requestKeptMs: 24 * 3_600_000,
  ttlMsMin: 1,
  ttlMsMax: 10 * 365 * 86_400_000,
  /** Revisions of history kept of what Holdfast writes for itself. */
  reservedRevisionsMax: 1_000,
  /** Commits gathered into one durable batch, and their bytes; a commit with more of them has a batch of its own. */
  batchCommitsMax: 512,
  batchBytesMax: 1_048_576,
  /** Callers waiting for a commit in one process; over it, `unavailable` at once. */
  queuedCommitsMax: 10_000,
} as const;
