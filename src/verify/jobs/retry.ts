import { commitState, setState } from "../../domain/state/state.ts";
import { createRun } from "../../domain/workflows/workflows.ts";
import { fingerprint } from "../../kernel/json.ts";
import type { Scope } from "../../store/transact.ts";
import type { RunJob } from "../job.ts";
import type { WorkerMessage } from "../worker-process.ts";

/** Requests whose second effect would be visible: another version, a second revision of a group, a second run with the same name. */
const requests: readonly ((scope: Scope, index: number) => Promise<unknown>)[] = [
  (scope, index) => setState(scope, { key: `request/${index}`, value: index }),
  (scope, index) =>
    commitState(scope, {
      writes: [
        { op: "set", key: `request/${index}`, value: index },
        { op: "delete", key: `absent/${index}` },
      ],
      expected: [],
      guards: [],
    }),
  (scope, index) => createRun(scope, { name: `request/${index}` }),
];

const requestKey = (index: number): string => `request-${index}`;

/** Sends numbered requests starting at `from`, each with its own request key, and reports before and after. Each command names a request to send again. */
export const retryJob: RunJob = async ({ job, scope, say, commands }) => {
  const send = async (index: number): Promise<WorkerMessage> => {
    const request = { key: requestKey(index), fingerprint: fingerprint(["request", index]) };
    return { answered: index, answer: JSON.stringify(await requests[index % requests.length]?.({ ...scope, request }, index)) };
  };
  if (job.again === true) {
    for await (const { index } of commands) say(await send(Number(index)));
    return;
  }
  for (let index = Number(job.from); index < Number(job.until); index += 1) {
    say({ sent: index });
    say(await send(index));
  }
};
