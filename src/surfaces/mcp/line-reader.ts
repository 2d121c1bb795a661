const newline = 0x0a;

interface LineSink {
  /** One line without its line break; valid only during the call. */
  onLine(line: Buffer): void;
  /** A line grew beyond the limit; its bytes are thrown away up to its end. */
  onOverlong(): void;
}

/**
 * Cuts a byte stream into lines. Bytes are looked at once and a line that arrives whole is not copied;
 * what is kept of an unfinished line never exceeds the limit.
 */
export class LineReader {
  readonly #sink: LineSink;
  readonly #bytesMax: number;
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #skipping = false;

  constructor(sink: LineSink, bytesMax: number) {
    this.#sink = sink;
    this.#bytesMax = bytesMax;
  }

  push(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      this.#finish(chunk.subarray(start, end));
      start = end + 1;
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start));
  }

  /** The stream ended: what is left without a line break is a line too. */
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
