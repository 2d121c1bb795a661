// A short true story through the built executable: two agents, each with its own MCP server process, on one SQLite file.
// Every line is printed from real results, and anything unexpected ends the story with exit code 1.
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const executable = join(dirname(dirname(fileURLToPath(import.meta.url))), "dist", "main.js");
const claimSeconds = 3;
const steps = ["collect the changes", "write the notes", "build the package", "publish it"];

const colourful = process.stdout.isTTY === true && !process.env.NO_COLOR;
const paint = (code, text) => (colourful ? `\u001b[${code}m${text}\u001b[0m` : text);
const hues = { blue: 34, green: 32 };
const heading = (text) => process.stdout.write(`\n${paint(1, text)}\n`);
const tell = (who, text) => process.stdout.write(`  ${who === undefined ? "" : `${paint(hues[who] ?? 33, who.padEnd(6))} `}${text}\n`);

class Surprise extends Error {}
function expect(holds, what, seen) {
  if (!holds) throw new Surprise(`Expected ${what}, but saw ${JSON.stringify(seen)}.`);
}

/** One agent: an official MCP client that has started its own server process. */
async function openAgent(name, store) {
  const transport = new StdioClientTransport({ command: process.execPath, args: [executable, "--profile", "all", "--store", `sqlite:${store}`], stderr: "inherit" });
  const client = new Client({ name, version: "1.0.0" });
  await client.connect(transport);
  const { pid } = transport;
  return {
    name,
    pid,
    async call(tool, args) {
      const { structuredContent } = await client.callTool({ name: tool, arguments: args });
      return structuredContent;
    },
    kill: () => process.kill(pid, "SIGKILL"),
    close: () => client.close(),
  };
}

async function sharedState(blue, green) {
  heading("Two agents share state");
  await blue.call("state_set", { key: "release/plan", value: { version: "2.0", reviewers: [] }, agent_id: blue.name });
  tell(blue.name, "wrote release/plan");
  const read = await green.call("state_get", { key: "release/plan" });
  expect(read.found && read.version === 1, "the plan at version 1", read);
  tell(green.name, `read it: version ${read.version}, written by ${read.updated_by}`);

  const edits = await Promise.all(
    [blue, green].map(async (agent) => {
      const value = { ...read.value, reviewers: [agent.name] };
      return { agent, answer: await agent.call("state_set", { key: "release/plan", value, expected_version: 1, agent_id: agent.name }) };
    }),
  );
  const lost = edits.filter(({ answer }) => !answer.ok);
  expect(lost.length === 1 && lost[0].answer.reason === "conflict", "exactly one of two racing edits to win", edits);
  tell(undefined, "both edit version 1 at the same moment:");
  for (const { agent, answer } of edits)
    tell(agent.name, answer.ok ? `won, the plan is at version ${answer.version}` : `got a conflict: the plan is at version ${answer.actual_version} now; nothing was overwritten`);
}

async function race(blue, green) {
  heading("They race for a run");
  const { run_id: runId } = await blue.call("workflow_create", { name: "release", tags: { project: "demo" }, input: { steps } });
  tell(blue.name, `created the run ${runId} with ${steps.length} steps`);
  const claims = await Promise.all(
    [blue, green].map(async (agent) => ({ agent, claim: await agent.call("workflow_claim", { run_id: runId, agent_id: agent.name, ttl_seconds: claimSeconds }) })),
  );
  const won = claims.filter(({ claim }) => claim.claimed);
  expect(won.length === 1, "exactly one winner", claims);
  for (const { agent, claim } of claims) tell(agent.name, claim.claimed ? `won the claim for ${claimSeconds} s, token ${claim.token}` : `was refused: held by ${claim.agent_id}`);
  return { runId, token: won[0].claim.token, winner: won[0].agent, loser: won[0].agent === blue ? green : blue };
}

async function crash(runId, winner) {
  heading("The winner works, and is killed");
  for (const step of [1, 2]) {
    await winner.call("workflow_checkpoint", { run_id: runId, step, output: { did: steps[step - 1] }, agent_id: winner.name });
    tell(winner.name, `step ${step} of ${steps.length}: ${steps[step - 1]} (checkpointed)`);
  }
  winner.kill();
  tell(undefined, `kill -9 ${winner.pid}: the server process of ${winner.name} is gone, without a goodbye`);
}

async function takeOver(runId, survivor) {
  heading("The other one resumes");
  const startedMs = performance.now();
  let claim = await survivor.call("workflow_claim", { run_id: runId, agent_id: survivor.name });
  expect(!claim.claimed, "the claim to be respected until it lapses", claim);
  tell(survivor.name, `asks at once and is refused: the claim of ${claim.agent_id} still runs`);
  while (!claim.claimed && performance.now() - startedMs < 20_000) {
    await sleep(100);
    claim = await survivor.call("workflow_claim", { run_id: runId, agent_id: survivor.name });
  }
  expect(claim.claimed, "the claim to be free after it lapsed", claim);
  tell(survivor.name, `took over after ${((performance.now() - startedMs) / 1_000).toFixed(1)} s, token ${claim.token}`);
  const resumed = await survivor.call("workflow_resume", { run_id: runId });
  expect(resumed.last_step === 2 && resumed.step_outputs["2"]?.did === steps[1], "both acknowledged steps", resumed);
  tell(
    survivor.name,
    `resumes after step ${resumed.last_step}; outputs kept: ${Object.values(resumed.step_outputs)
      .map(({ did }) => did)
      .join(", ")}`,
  );
}

async function finish(runId, survivor, returned, oldToken) {
  heading("The killed one comes back too late");
  const refused = await returned.call("workflow_checkpoint", { run_id: runId, step: 3, output: { did: "something else" }, agent_id: returned.name, token: oldToken });
  expect(refused.error?.code === "claim_lost", "the replaced worker to be refused", refused);
  tell(returned.name, `is refused with ${refused.error.code}: ${refused.error.message}`);
  for (const step of [3, 4]) {
    await survivor.call("workflow_checkpoint", { run_id: runId, step, output: { did: steps[step - 1] }, agent_id: survivor.name });
    tell(survivor.name, `step ${step} of ${steps.length}: ${steps[step - 1]} (checkpointed)`);
  }
  const done = await survivor.call("workflow_finish", { run_id: runId, status: "done", result: { published: true }, agent_id: survivor.name });
  expect(done.status === "done", "the run to be done", done);
  tell(survivor.name, `finished the run: ${done.status} after ${done.attempts} attempts`);
}

async function history(runId, survivor) {
  heading("What history says");
  const { entries } = await survivor.call("history_log", { key: runId, kind: "workflow", n: 20 });
  expect(entries.filter(({ op }) => op === "checkpoint").length === steps.length, "one record per checkpoint", entries);
  // Within one revision, endings come before beginnings: a claim lapses, then the next one is taken.
  const inOrder = entries.toReversed().sort((a, b) => a.revision - b.revision || Number(b.op === "lapse") - Number(a.op === "lapse"));
  for (const { revision, op, agent_id: agent, writer } of inOrder) tell(undefined, `revision ${String(revision).padStart(3)}  ${op.padEnd(11)} ${agent ?? writer}`);
}

if (!existsSync(executable)) {
  process.stderr.write("dist/main.js is missing. Run: npm run build\n");
  process.exit(1);
}
const startedMs = performance.now();
const folder = await mkdtemp(join(tmpdir(), "holdfast-try-"));
const store = join(folder, "holdfast.db");
const agents = [];
const open = async (name) => {
  const agent = await openAgent(name, store);
  agents.push(agent);
  return agent;
};
try {
  const [blue, green] = await Promise.all([open("blue"), open("green")]);
  tell(undefined, `two server processes (${blue.pid}, ${green.pid}), one SQLite file`);
  await sharedState(blue, green);
  const { runId, token, winner, loser } = await race(blue, green);
  await crash(runId, winner);
  await takeOver(runId, loser);
  await finish(runId, loser, await open(winner.name), token);
  await history(runId, loser);
  process.stdout.write(
    `\nAll of it happened, in ${((performance.now() - startedMs) / 1_000).toFixed(1)} s. Next: npm run demo (a busy fleet on the dashboard), or the client configuration in README.md.\n`,
  );
} catch (error) {
  process.stderr.write(`\nThe story went wrong. ${error instanceof Surprise ? error.message : error.stack}\n`);
  process.exitCode = 1;
} finally {
  await Promise.allSettled(agents.map((agent) => agent.close()));
  await rm(folder, { recursive: true, force: true });
}
