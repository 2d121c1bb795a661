import type { Writable } from "node:stream";

/** Unsent bytes (about) at which the sender should stop taking in more work. */
const congestedAt = 4_194_304;

/**
 * Writes lines to a stream, all lines of one turn of the event loop in one write.
 * A reader that went away (EPIPE) is told once through `onGone` and is never a crash.
 */
export class LineWriter {
  readonly #stream: Writable;
  readonly #onGone: (error: Error) => void;
  #lines: string[] = [];
  #scheduled: NodeJS.Immediate | undefined;
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
    this.#scheduled ??= setImmediate(() => this.#flush());
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
    clearImmediate(this.#scheduled);
    this.#scheduled = undefined;
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
