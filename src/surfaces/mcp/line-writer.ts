import type { Writable } from "node:stream";

/** The approximate number of unsent bytes at which no more responses are built and no more requests are accepted. */
export const unsentBytesMax = 4_194_304;

interface WriterEvents {
  /** Called once, when the reader has disconnected. */
  onGone(error: Error): void;
  /** Some output was sent, and there is room for more. */
  onRoom(): void;
}

/**
 * Writes lines to a stream; all lines of one burst of work go into one write.
 * A reader that disconnects (EPIPE) is reported once and never crashes the process; one that does not read makes `whenRoom` wait.
 */
export class LineWriter {
  readonly #stream: Writable;
  readonly #events: WriterEvents;
  #lines: string[] = [];
  /** The size of the lines not yet passed to the stream. UTF-16 units are exact enough for a limit. */
  #lineUnits = 0;
  readonly #held: (() => void)[] = [];
  #taken = 0;
  #scheduled = false;
  #gone = false;

  constructor(stream: Writable, events: WriterEvents) {
    this.#stream = stream;
    this.#events = events;
    // Never removed: a late error on a stream without a listener would end the process.
    stream.on("error", (error) => this.#lose(error));
    stream.on("close", () => this.#lose(new Error("The output was closed.")));
  }

  write(line: string): void {
    if (this.#gone) return;
    this.#lines.push(line);
    this.#lineUnits += line.length;
    if (this.#scheduled) return;
    this.#scheduled = true;
    // Runs after all promises that have settled by now (a whole batch of commits is answered together),
    // but before the next turn of the event loop, so a single caller does not wait for the batching.
    process.nextTick(() => this.#flush());
  }

  get congested(): boolean {
    return !this.#gone && this.#lineUnits + this.#stream.writableLength >= unsentBytesMax;
  }

  /**
   * Calls `make`, which builds a line and writes it, when there is room for output: usually at once, otherwise in the order of the calls.
   * The data waiting here is much smaller than the responses built from it.
   */
  whenRoom(make: () => void): void {
    if (this.#held.length === 0 && !this.congested) make();
    else this.#held.push(make);
  }

  get gone(): boolean {
    return this.#gone;
  }

  /** The number of writes the operating system has accepted; it grows while the client reads. */
  get taken(): number {
    return this.#taken;
  }

  /** Resolves when everything written so far was passed to the operating system, or the reader has disconnected. */
  async finish(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#stream.once("close", resolve));
    do {
      this.#flush();
      if (this.#gone) return;
      await Promise.race([new Promise<void>((resolve) => this.#stream.write("", () => resolve())), closed]);
    } while (this.#lines.length > 0 || this.#held.length > 0);
  }

  #flush(): void {
    this.#scheduled = false;
    if (this.#lines.length === 0 || this.#gone) return;
    const text = `${this.#lines.join("\n")}\n`;
    this.#lines = [];
    this.#lineUnits = 0;
    this.#stream.write(text, () => {
      this.#taken += 1;
      this.#room();
    });
  }

  #room(): void {
    while (this.#held.length > 0 && !this.congested) this.#held.shift()?.();
    if (!this.congested) this.#events.onRoom();
  }

  #lose(error: Error): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#lines = [];
    // Waiters check whether the reader has disconnected, so they must be released.
    for (const make of this.#held.splice(0)) make();
    this.#events.onGone(error);
  }
}
