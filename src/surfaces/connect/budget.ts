/** Bytes that may be in memory at one time. Whoever needs some waits until there is room; one that needs more than there is at all waits until it is alone. */
export class Budget {
  readonly #bytesMax: number;
  readonly #waiting: { readonly bytes: number; readonly go: () => void }[] = [];
  #used = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Resolves to the function that gives the bytes back. */
  async take(bytes: number): Promise<() => void> {
    if (this.#waiting.length > 0 || !this.#hasRoom(bytes)) await new Promise<void>((go) => this.#waiting.push({ bytes, go }));
    else this.#used += bytes;
    return () => {
      this.#used -= bytes;
      this.#wake();
    };
  }

  #hasRoom(bytes: number): boolean {
    return this.#used === 0 || this.#used + bytes <= this.#bytesMax;
  }

  #wake(): void {
    for (let next = this.#waiting[0]; next !== undefined && this.#hasRoom(next.bytes); next = this.#waiting[0]) {
      this.#waiting.shift();
      this.#used += next.bytes;
      next.go();
    }
  }
}
