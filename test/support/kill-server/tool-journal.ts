import type { ToolAnswer, ToolCaller } from "./server-process.ts";
import { Cut } from "./server-process.ts";

/** One request as its client saw it, with everything it was told about it. */
export interface RecordedCall {
  /** Unlike any other call's; stands somewhere in the arguments, so that the log tells whose effect a row is. */
  readonly label: string;
  readonly tool: string;
  // biome-ignore lint/suspicious/noExplicitAny: the audit looks into arguments of every tool
  readonly args: any;
  readonly requestKey?: string;
  /** One for each time that it was answered; all but the first came after asking again. */
  readonly answers: ToolAnswer[];
  /** How often the server was killed before it answered. */
  cuts: number;
  sent: number;
}

/** The parent's memory of what was asked and answered: its word against the store's. */
export class ToolJournal {
  readonly calls: RecordedCall[] = [];
  /** Cut calls with a request key, to be asked again on another server. */
  readonly unanswered: RecordedCall[] = [];
  #labels = 0;

  newLabel(): string {
    this.#labels += 1;
    return `call-${this.#labels}`;
  }

  /** Sends a new request. Rejects with `Cut` when the server is killed first. */
  call(
    server: ToolCaller,
    { label, tool, args, keyed }: { readonly label: string; readonly tool: string; readonly args: Record<string, unknown>; readonly keyed: boolean },
  ): Promise<ToolAnswer> {
    const recorded: RecordedCall = { label, tool, args, requestKey: keyed ? `key of ${label}` : undefined, answers: [], cuts: 0, sent: 0 };
    this.calls.push(recorded);
    return this.send(server, recorded);
  }

  /** Sends a request for the first time or again, with the same key and arguments. */
  async send(server: ToolCaller, recorded: RecordedCall): Promise<ToolAnswer> {
    recorded.sent += 1;
    try {
      const answer = await server.call(recorded.tool, recorded.args, recorded.requestKey);
      recorded.answers.push(answer);
      return answer;
    } catch (error) {
      if (error instanceof Cut) {
        recorded.cuts += 1;
        if (recorded.requestKey !== undefined) this.unanswered.push(recorded);
      }
      throw error;
    }
  }
}
