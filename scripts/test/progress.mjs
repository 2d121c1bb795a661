// The progress of a test command: a line per finished step or file and, on a terminal, a last line that shows what is running.
const isTerminal = process.stdout.isTTY === true;
const paint = (code, text) => (isTerminal && !process.env.NO_COLOR ? `\u001B[${code}m${text}\u001B[0m` : text);
const erase = isTerminal ? "\r\u001B[K" : "";

export class Progress {
  #total = 0;
  #finished = 0;
  #running = new Set();
  #startedMs = performance.now();

  /** Adds work to the total. */
  expect(count) {
    this.#total += count;
  }

  begin(name) {
    this.#running.add(name);
    this.#showRunning();
  }

  end(name, { passed, detail, seconds }) {
    this.#running.delete(name);
    this.#finished += 1;
    const mark = passed ? paint(32, "ok  ") : paint(31, "FAIL");
    const count = `${String(this.#finished).padStart(String(this.#total).length)}/${this.#total}`;
    this.print(`${this.#elapsed()} ${count} ${mark} ${name}${detail === undefined ? "" : `, ${detail}`} ${paint(2, `${seconds.toFixed(1)} s`)}`);
  }

  print(text) {
    process.stdout.write(`${erase}${text}\n`);
    this.#showRunning();
  }

  /** Restores the terminal. */
  close() {
    process.stdout.write(erase);
  }

  #elapsed() {
    const seconds = Math.floor((performance.now() - this.#startedMs) / 1_000);
    return `${String(Math.floor(seconds / 60)).padStart(2)}:${String(seconds % 60).padStart(2, "0")}`;
  }

  #showRunning() {
    if (!isTerminal) return;
    const line = `${this.#elapsed()} running: ${[...this.#running].join(", ")}`;
    process.stdout.write(`${erase}${line.slice(0, (process.stdout.columns ?? 80) - 1)}`);
  }
}
