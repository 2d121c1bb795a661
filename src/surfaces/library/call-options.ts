/** Options that every call accepts. */
export interface CallOptions {
  /** The caller's name in history and as the holder of leases and claims. By default the name given to `openHoldfast`. */
  readonly agent?: string;
  /** Ends a wait. A write that was already sent is not undone. */
  readonly signal?: AbortSignal;
}

export interface WriteOptions extends CallOptions {
  /** Makes a retry safe: the same key and arguments return the first answer and have no second effect. */
  readonly requestKey?: string;
}
