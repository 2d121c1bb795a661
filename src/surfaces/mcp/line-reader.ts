const newline = 0x0a;

interface LineSink {
  /** One line without its line break; valid only during the call. */
  onLine(line: Buffer): void;
  /** False: the next line waits until `resume` is called. */
  mayTake(): boolean;
  /** A line exceeded the limit; its bytes are discarded up to its end. */
  onOverlong(): void;
}

/**
 * Splits a byte stream into lines. Each byte is examined once, and a line that arrives whole is not copied.
 * The buffer for an unfinished line never exceeds the limit. Lines that the sink does not accept yet stay unsplit in their chunk.
 */
export class LineReader {
  readonly #sink: LineSink;
  readonly #bytesMax: number;
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #skipping = false;
  #rest: Buffer | undefined;

  constructor(sink: LineSink, bytesMax: number) {
    this.#sink = sink;
    this.#bytesMax = bytesMax;
  }

  /** False: the sink accepts no more; call `resume` when it does. */
  push(chunk: Buffer): boolean {
    this.#rest = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk]);
    return this.resume();
  }

  /** Continues with input that was held back. True: none is left. */
  resume(): boolean {
    const chunk = this.#rest;
    if (chunk === undefined) return true;
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      if (!this.#sink.mayTake()) {
        this.#rest = chunk.subarray(start);
        return false;
      }
      this.#finish(chunk.subarray(start, end));
      start = end + 1;
    }
    this.#rest = undefined;
    if (start < chunk.length) this.#keep(chunk.subarray(start));
    return true;
  }

  /** The stream ended: a rest without a line break is a line too. */
  end(): void {
    if (this.#pendingBytes > 0) this.#finish(Buffer.alloc(0));
  }

  #finish(last: Buffer): void {
    if (this.#skipping) {
      this.#skipping = false;
      return;
    }
    if (this.#pendingBytes + last.length > this.#bytesMax) {
      this.#drop();
      this.#skipping = false;
      return;
    }
    const line = this.#pendingBytes === 0 ? last : Buffer.concat([...this.#pending, last]);
    this.#pending = [];
    this.#pendingBytes = 0;
    if (line.length > 0) this.#sink.onLine(line);
  }

  #keep(part: Buffer): void {
    if (this.#skipping) return;
    if (this.#pendingBytes + part.length > this.#bytesMax) {
      this.#drop();
      return;
    }
    this.#pending.push(part);
    this.#pendingBytes += part.length;
  }

  #drop(): void {
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#skipping = true;
    this.#sink.onOverlong();
  }
}
