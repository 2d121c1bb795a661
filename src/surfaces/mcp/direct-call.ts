import type { AnswerGate } from "../../store/answer-gates.ts";

/** One call on the fast path. Its abort signal is created only when needed. */
export class DirectCall {
  readonly gate: AnswerGate;
  #controller: AbortController | undefined;
  cancelled = false;

  constructor(gate: AnswerGate) {
    this.gate = gate;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.cancelled) this.#controller.abort();
    }
    return this.#controller.signal;
  }

  cancel(): void {
    this.cancelled = true;
    this.#controller?.abort();
  }
}
