import { PassThrough } from "node:stream";

/** A pipe between two processes that may be cut in the middle of a message: so many bytes pass, then `onCut` is called and nothing more does. */
export class CutPipe extends PassThrough {
  #left: number;
  readonly #onCut: () => void;

  constructor(afterBytes = Number.POSITIVE_INFINITY, onCut: () => void = () => {}) {
    super();
    this.#left = afterBytes;
    this.#onCut = onCut;
    // Whoever writes to a pipe that broke is told elsewhere.
    this.on("error", () => {});
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    const passing = chunk.subarray(0, Math.max(0, this.#left));
    const isCut = chunk.length > passing.length || (this.#left === 0 && chunk.length > 0);
    this.#left -= passing.length;
    if (passing.length > 0) this.push(passing);
    callback();
    // In a turn of its own: what has passed is read first.
    if (isCut) setImmediate(this.#onCut);
  }

  eachLine(take: (line: string) => void): void {
    let rest = "";
    this.on("data", (chunk: Buffer) => {
      const lines = (rest + chunk.toString()).split("\n");
      rest = lines.pop() as string;
      for (const line of lines) take(line);
    });
  }
}
