import type { Clock } from "../kernel/clock.ts";
import type { Store } from "../store/store.ts";
import type { Scope } from "../store/transact.ts";
import type { Random } from "./random.ts";
import type { Job, WorkerMessage } from "./worker-process.ts";

/** The context of a worker's job: its own connection to the store, and a way to report to the parent. */
export interface JobContext {
  readonly job: Job;
  readonly store: Store;
  /** Writes under the worker's name. */
  readonly scope: Scope;
  readonly clock: Clock;
  readonly random: Random;
  /** Reaches the parent even if this process is killed right after. */
  say(message: WorkerMessage): void;
  /** The parent's commands, until it closes the input. */
  readonly commands: AsyncIterable<WorkerMessage>;
}

export type RunJob = (context: JobContext) => Promise<void>;

/** Answers commands in order of arrival. */
export async function answerCommands({ commands, say }: JobContext, answer: (command: WorkerMessage) => Promise<WorkerMessage>): Promise<void> {
  for await (const command of commands) say({ ...(await answer(command)), re: command.id ?? null });
}
