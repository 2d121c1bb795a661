/** What every call may carry. */
export interface CallOptions {
  /** The caller's name for itself in history, and the holder of leases and claims; the one given to `openHoldfast` by default. */
  readonly agent?: string;
  /** Ends a wait; a write that was sent is not taken back. */
  readonly signal?: AbortSignal;
}

export interface WriteOptions extends CallOptions {
  /** Makes a retry safe: the same key and arguments give the first answer again and no second effect. */
  readonly requestKey?: string;
}
