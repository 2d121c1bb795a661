import type { Writable } from "node:stream";

/** Unsent bytes (about) at which no more answers are made and no more work is taken in. */
export const unsentBytesMax = 4_194_304;

interface WriterEvents {
  /** Called once, when the reader is gone. */
  onGone(error: Error): void;
  /** Some output was taken, and there is room for more. */
  onRoom(): void;
}

/**
 * Writes lines to a stream, in one write all lines that one burst of work brings.
 * A reader that went away (EPIPE) is reported once and never crashes the process; one that does not read makes `whenRoom` wait.
 */
export class LineWriter {
  readonly #stream: Writable;
  readonly #events: WriterEvents;
  #lines: string[] = [];
  /** Of the lines not yet given to the stream; UTF-16 units are exact enough for a limit. */
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
    // Runs when every promise settled by now has been followed to its end (a whole batch of commits is answered together),
    // but before the event loop turns: a single caller does not wait for the batching.
    process.nextTick(() => this.#flush());
  }

  get congested(): boolean {
    return !this.#gone && this.#lineUnits + this.#stream.writableLength >= unsentBytesMax;
  }

  /**
   * Calls `make`, which makes a line and writes it, when there is room for its output: as a rule at once, otherwise in the order asked.
   * What an answer is made from waits here much smaller than the answer would.
   */
  whenRoom(make: () => void): void {
    if (this.#held.length === 0 && !this.congested) make();
    else this.#held.push(make);
  }

  get gone(): boolean {
    return this.#gone;
  }

  /** How many writes the operating system has taken: grows while the client reads. */
  get taken(): number {
    return this.#taken;
  }

  /** Resolves when everything written so far has been handed to the operating system, or the reader is gone. */
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
    // Waiters check whether the reader is gone, so they must be released.
    for (const make of this.#held.splice(0)) make();
    this.#events.onGone(error);
  }
}
