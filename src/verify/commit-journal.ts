import type { Json } from "../kernel/json.ts";
import type { Revision } from "../store/store.ts";
import type { SentCommit } from "./checkers/commits.ts";
import type { WorkerMessage } from "./worker-process.ts";

/** What workers with a recorded store reported as sent and answered, for comparison with the store. */
export class CommitJournal {
  readonly #commits = new Map<string, { client: string; writes: SentCommit["writes"]; answer?: SentCommit["answer"] }>();

  get commits(): readonly SentCommit[] {
    return [...this.#commits.values()];
  }

  /** The revisions that commits received. */
  get acknowledged(): readonly { readonly client: string; readonly revision: Revision }[] {
    return this.commits.flatMap(({ client, answer, writes }) => {
      if (answer === undefined || answer === "refused") return [];
      const changed = writes.some((write, i) => write.value !== undefined || answer.versions[i] !== 0);
      return changed ? [{ client, revision: answer.revision }] : [];
    });
  }

  hear(client: string, message: WorkerMessage): void {
    if (message.sent !== undefined) {
      const writes = (message.writes as readonly (readonly [string, Json?])[]).map(([key, ...value]) => (value.length === 0 ? { key } : { key, value: value[0] }));
      this.#commits.set(`${client} ${message.sent}`, { client, writes });
      return;
    }
    const commit = this.#commits.get(`${client} ${message.answered}`);
    if (commit === undefined) throw new Error(`${client} received an answer to a request that it had not sent: ${message.answered}.`);
    commit.answer = message.refused === true ? "refused" : { revision: message.revision as number, versions: message.versions as readonly number[] };
  }
}
