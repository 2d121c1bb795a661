import { isPlainObject } from "../mcp/json-rpc.ts";

/** Requests a page of the upstream's tool list; undefined if the upstream does not return one. */
export type AskTools = (cursor: string | undefined) => Promise<Readonly<Record<string, unknown>> | undefined>;

const pagesMax = 100;
const toolsMax = 10_000;

/** Which of the upstream's tools are read-only, learnt from the lists that pass through. For an unlisted tool, the proxy requests the list itself. */
export class KnownTools {
  #readOnly = new Map<string, boolean>();
  #isComplete = false;
  #asking: Promise<void> | undefined;
  /** Incremented when the list changes, so that a list requested before the change is ignored. */
  #generation = 0;

  /** Reads a page of the upstream's tool list. */
  learn(result: unknown): void {
    if (!isPlainObject(result) || !Array.isArray(result.tools)) return;
    for (const tool of result.tools as readonly unknown[]) {
      if (!isPlainObject(tool) || typeof tool.name !== "string" || (this.#readOnly.size >= toolsMax && !this.#readOnly.has(tool.name))) continue;
      this.#readOnly.set(tool.name, isPlainObject(tool.annotations) && tool.annotations.readOnlyHint === true);
    }
  }

  /** Called when the upstream reports that its tool list changed. */
  forget(): void {
    this.#generation += 1;
    this.#readOnly = new Map();
    this.#isComplete = false;
    this.#asking = undefined;
  }

  /** Whether the tool is read-only; undefined until the list has been requested. A tool missing from the complete list counts as having an effect. */
  known(tool: string): boolean | undefined {
    return this.#readOnly.get(tool) ?? (this.#isComplete ? false : undefined);
  }

  async isReadOnly(tool: string, ask: AskTools): Promise<boolean> {
    if (this.known(tool) === undefined) {
      this.#asking ??= this.#askAll(ask);
      await this.#asking;
    }
    return this.known(tool) ?? false;
  }

  async #askAll(ask: AskTools): Promise<void> {
    const generation = this.#generation;
    let cursor: string | undefined;
    for (let page = 0; page < pagesMax; page += 1) {
      const result = await ask(cursor);
      if (generation !== this.#generation) return;
      this.learn(result);
      if (typeof result?.nextCursor !== "string") {
        this.#isComplete = result !== undefined;
        break;
      }
      cursor = result.nextCursor;
    }
    // If the list is incomplete, the next call requests it again.
    this.#asking = undefined;
  }
}
