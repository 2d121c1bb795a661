import type { Random } from "../../../src/verify/random.ts";
import { between, pick } from "../../../src/verify/random.ts";
import type { ToolAnswer, ToolCaller } from "./server-process.ts";
import { Cut } from "./server-process.ts";
import type { ToolJournal } from "./tool-journal.ts";

/** What all clients of a campaign share: the parent's journal, and chance. */
export interface LoadContext {
  readonly journal: ToolJournal;
  readonly random: Random;
}

/** Makes one change and resolves to its answer; about every second one carries a request key. The arguments are given the call's label. */
type Change = (tool: string, args: (label: string) => Record<string, unknown>) => Promise<ToolAnswer>;
type Read = (tool: string, args: Record<string, unknown>) => Promise<ToolAnswer>;

interface LoadLoop {
  readonly change: Change;
  readonly read: Read;
  readonly random: Random;
}

const sharedKeys = 12;
const groups = 3;
const groupMembers = ["a", "b", "c"] as const;
const leases = 6;
const stepsToFinish = 4;

/** Values of uneven size: most fit a page of the database many times over, some need several. */
const padding = (random: Random): string => "x".repeat(random() < 0.1 ? between(random, 2_000, 9_000) : between(random, 0, 60));
const seconds = (random: Random, minMs: number, maxMs: number): number => between(random, minMs, maxMs) / 1_000;

const actions: readonly ((lane: LoadLoop) => Promise<unknown>)[] = [
  ({ change, random }) => change("state_set", (label) => ({ key: `shared/${between(random, 1, sharedKeys)}`, value: `${label} ${padding(random)}`, agent_id: label })),
  ({ change, random }) => change("state_set", (label) => ({ key: `brief/${between(random, 1, sharedKeys)}`, value: label, ttl_seconds: seconds(random, 5, 60), agent_id: label })),
  async ({ change, read, random }) => {
    const key = `counter/${between(random, 1, 3)}`;
    const { structured: before } = await read("state_get", { key });
    await change("state_set", (label) => ({ key, value: { by: label, count: (before.value?.count ?? 0) + 1 }, expected_version: before.version, agent_id: label }));
  },
  ({ change, random }) =>
    change("state_commit", (label) => {
      const group = `group/${between(random, 1, groups)}`;
      return {
        writes: [
          ...groupMembers.map((member) => ({ key: `${group}/${member}`, value: `${label} ${padding(random)}` })),
          { key: `shared/${between(random, 1, sharedKeys)}`, delete: true },
        ],
        ...(random() < 0.2 ? { expected: [{ key: `${group}/a`, version: 0 }] } : {}),
        agent_id: label,
      };
    }),
  ({ change, random }) => change("state_delete", (label) => ({ key: `shared/${between(random, 1, sharedKeys)}`, agent_id: label })),
  ({ change, random }) =>
    change("session_save", (label) => ({
      session_id: `session-${between(random, 1, sharedKeys)}`,
      context: { by: label, notes: padding(random) },
      ...(random() < 0.2 ? { expected_version: 0 } : {}),
    })),
  holdLease,
  workOnRun,
];

async function holdLease({ change, random }: LoadLoop): Promise<void> {
  const resource = `lease-${between(random, 1, leases)}`;
  let holder = "";
  const { structured: taken } = await change("lease_acquire", (label) => {
    holder = label;
    return { resource_id: resource, holder_id: holder, ttl_seconds: seconds(random, 10, 80) };
  });
  if (!taken.acquired) return;
  const lease = { resource_id: resource, token: taken.token };
  await change("state_set", (label) => ({ key: `guarded/${resource}`, value: { by: label, token: taken.token }, lease, agent_id: label }));
  // At most one renewal and one release by each holder: the log's rows can be told apart by its name.
  if (random() < 0.5) await change("lease_renew", () => ({ ...lease, holder_id: holder, ttl_seconds: seconds(random, 100, 150) }));
  if (random() < 0.6) await change("lease_release", () => ({ ...lease, holder_id: holder }));
}

async function workOnRun({ change, read, random }: LoadLoop): Promise<void> {
  if (random() < 0.6)
    await change("workflow_create", (label) => ({ name: label, tags: { kind: pick(random, ["build", "test"]) }, ...(random() < 0.5 ? { run_id: `run-${label}` } : {}) }));
  let agent = "";
  const { structured: claim } = await change("workflow_claim", (label) => {
    agent = label;
    return { agent_id: agent, ttl_seconds: seconds(random, 200, 500) };
  });
  if (!claim.claimed) return;
  const holder = { run_id: claim.run_id, agent_id: agent, token: claim.token };
  const { structured: status } = await read("workflow_status", { run_id: claim.run_id });
  let step = status.last_step;
  for (let more = 0; more < 2; more += 1) {
    step += 1;
    const { isError } = await change("workflow_checkpoint", (label) => ({ ...holder, step, output: `${label} ${padding(random)}` }));
    if (isError) return;
  }
  if (step >= stepsToFinish) await change("workflow_finish", (label) => ({ ...holder, status: "done", result: label }));
}

/** Keeps so many calls in flight, of every kind, until the server is killed. Calls that another server's end cut off come first. */
export async function putUnderLoad(server: ToolCaller, { journal, random }: LoadContext, lanes: number): Promise<void> {
  const lane: LoadLoop = {
    random,
    change: (tool, args) => {
      const label = journal.newLabel();
      return journal.call(server, { label, tool, args: args(label), keyed: random() < 0.5 });
    },
    async read(tool, args) {
      const answer = await server.call(tool, args);
      // Only what was acknowledged is asked for: that it is not there would be a loss.
      if (answer.isError) throw new Error(`${tool} ${JSON.stringify(args)} was answered ${answer.text}`);
      return answer;
    },
  };
  const work = async (): Promise<void> => {
    for (;;) {
      const cut = random() < 0.3 ? journal.unanswered.shift() : undefined;
      await (cut === undefined ? pick(random, actions)(lane) : journal.send(server, cut));
    }
  };
  await Promise.all(
    Array.from({ length: lanes }, () =>
      work().catch((error: unknown) => {
        if (!(error instanceof Cut)) throw error;
      }),
    ),
  );
}
