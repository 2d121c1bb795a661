/** The same on every engine, and chosen so that every engine can meet them. Names end with the unit. */
export const limits = {
  /** Names chosen by callers: a state key, a resource, a session. */
  keyBytesMax: 512,
  /** Keys that an engine must accept: a caller's name with the domain's prefix. */
  engineKeyBytesMax: 768,
  valueBytesMax: 1_048_576,
  valueDepthMax: 64,
  valueElementsMax: 100_000,
  /** The content of one blob, and of one of its chunks, whose base64 text is a value. */
  blobBytesMax: 67_108_864,
  chunkBytesMax: 737_280,
  /** Chunks in one call: their texts fit into one commit. */
  callChunksMax: 4,
  /** Blobs that one entry names. */
  entryBlobsMax: 60,
  commitWritesMax: 128,
  commitChecksMax: 256,
  commitBytesMax: 4_194_304,
  /** Log rows of one revision: each write may first log the expiry of the entry it replaces. */
  commitRowsMax: 256,
  /** The highest revision of a namespace: the limit of the narrowest engine (SQLite, see log-id.ts). */
  revisionMax: 2 ** 43 - 2,
  readEntriesMax: 1_000,
  logRowsMax: 1_000,
  /** Records in one page of a dump. */
  dumpRecordsMax: 1_000,
  namespaceBytesMax: 128,
  /** Index terms of one entry. */
  indexTermsMax: 2_000,
  /** Entries considered by one search: those with the query's rarest terms, newest first. */
  searchCandidatesMax: 2_000,
  requestKeyBytesMax: 256,
  requestKeptMs: 24 * 3_600_000,
  ttlMsMin: 1,
  ttlMsMax: 10 * 365 * 86_400_000,
  /** Revisions of history kept for the namespaces that Holdfast uses internally. */
  reservedRevisionsMax: 1_000,
  /** Commits in one durable batch, and their bytes. A commit with more bytes gets its own batch. */
  batchCommitsMax: 512,
  batchBytesMax: 1_048_576,
  /** Commits waiting in one process; above this, a commit fails with `unavailable` at once. */
  queuedCommitsMax: 10_000,
} as const;
