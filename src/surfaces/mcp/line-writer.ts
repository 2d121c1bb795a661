import type { Writable } from "node:stream";

/** Unsent bytes (about) at which the sender should stop taking in more work. */
const congestedAt = 4_194_304;

/**
 * Writes lines to a stream, in one write all lines that one burst of work brings.
 * A reader that went away (EPIPE) is told once through `onGone` and is never a crash.
 */
export class LineWriter {
  readonly #stream: Writable;
  readonly #onGone: (error: Error) => void;
  #lines: string[] = [];
  #scheduled = false;
  #gone = false;

  constructor(stream: Writable, onGone: (error: Error) => void) {
    this.#stream = stream;
    this.#onGone = onGone;
    // Never removed: a late error on a stream without a listener would end the process.
    stream.on("error", (error) => this.#lose(error));
    stream.on("close", () => this.#lose(new Error("The output was closed.")));
  }

  write(line: string): void {
    if (this.#gone) return;
    this.#lines.push(line);
    if (this.#scheduled) return;
    this.#scheduled = true;
    // Runs when every promise settled by now has been followed to its end (a whole batch of commits is answered together),
    // but before the event loop turns: a single caller does not wait for the batching.
    process.nextTick(() => this.#flush());
  }

  get congested(): boolean {
    return !this.#gone && this.#stream.writableNeedDrain && this.#stream.writableLength >= congestedAt;
  }

  /** Calls back once when the stream has taken everything. */
  whenDrained(then: () => void): void {
    this.#stream.once("drain", then);
  }

  /** Resolves when everything written so far has been handed to the operating system, or nobody reads any more. */
  async finish(): Promise<void> {
    this.#flush();
    if (this.#gone) return;
    await new Promise<void>((resolve) => {
      this.#stream.write("", () => resolve());
      this.#stream.once("close", resolve);
    });
  }

  #flush(): void {
    this.#scheduled = false;
    if (this.#lines.length === 0 || this.#gone) return;
    const text = `${this.#lines.join("\n")}\n`;
    this.#lines = [];
    this.#stream.write(text);
  }

  #lose(error: Error): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#lines = [];
    this.#onGone(error);
  }
}
