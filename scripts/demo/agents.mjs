// The behaviour of the demonstration's agents. A world gives them `call(agent, tool, args)`, `sleep(ms)`, `random()` and `over()`.
// The same agents simulate the past hour and then continue live, over HTTP.
import { flags, jobs, journal, notes, research, resources } from "./content.mjs";

const pick = (world, list) => list[Math.floor(world.random() * list.length)];
const between = (world, from, to) => from + world.random() * (to - from);

/** Runs all agents, each independently, until the world is over. A refusal that agents get in real life ends one piece of work, not the agent. */
export function employ(world, absent = []) {
  const agents = [
    ...["worker-1", "worker-2", "worker-3", "worker-4"].map((name) => [name, work]),
    ["gpu-worker", workOnce],
    ["planner", plan],
    ["builder", contend],
    ["deployer", contend],
    ["migrator", contend],
    ["reviewer", keepNotes],
    ["monitor", measure],
    ["scribe", keepJournal],
    ["researcher", study],
  ];
  return Promise.all(
    agents
      .filter(([name]) => !absent.includes(name))
      .map(async ([name, live]) => {
        while (!world.over()) {
          try {
            await live(world, name);
          } catch (error) {
            if (!error.refused) throw error;
            await world.sleep(2_000);
          }
        }
      }),
  );
}

/** Creates work, but never far more than the agents can do. Work for a GPU, which only one agent takes and only once, must not block the others. */
async function plan(world, name) {
  const pool = world.random() < 0.06 ? "gpu" : "general";
  const { runs } = await world.call(name, "workflow_discover", { claimable: true, tags: { pool }, limit: 10 });
  if (runs.length < (pool === "gpu" ? 2 : 5)) {
    const job = pick(world, jobs);
    const env = pick(world, ["staging", "production"]);
    await world.call(name, "workflow_create", {
      name: job.name,
      tags: { team: job.team, env, pool },
      input: { steps: job.steps, since: new Date(Math.floor(world.now() / 3_600_000) * 3_600_000).toISOString() },
      priority: env === "production" ? 10 : 0,
    });
  }
  await world.sleep(between(world, 5_000, 14_000));
}

/** Takes a run, goes through its steps, and sometimes disappears, so that another agent takes over. */
async function work(world, name) {
  const { claimed, run_id } = await world.call(name, "workflow_claim", { agent_id: name, tags: { pool: "general" }, ttl_seconds: 20 });
  if (!claimed) return world.sleep(between(world, 2_000, 5_000));
  const resumed = await world.call(name, "workflow_resume", { run_id });
  const steps = resumed.input?.steps ?? ["do it"];
  for (let step = resumed.meta.last_step + 1; step <= steps.length; step += 1) {
    await world.sleep(between(world, 2_000, 9_000));
    if (world.over()) return;
    const luck = world.random();
    // It crashed: the claim is not renewed and lapses.
    if (luck < 0.025) return world.sleep(between(world, 25_000, 60_000));
    if (luck < 0.05) {
      await world.call(name, "workflow_finish", { run_id, status: "failed", retry: luck < 0.04, agent_id: name, error: `${steps[step - 1]}: the other side answered 503` });
      return;
    }
    await world.call(name, "workflow_checkpoint", { run_id, step, output: outputOf(world, steps[step - 1]), agent_id: name });
  }
  await world.call(name, "workflow_finish", { run_id, status: "done", agent_id: name, result: { steps: steps.length, took: "as planned" } });
}

const outputOf = (world, did) => ({
  did,
  items: Math.floor(between(world, 20, 4_000)),
  took_ms: Math.floor(between(world, 150, 8_000)),
  warnings: world.random() < 0.2 ? ["one source answered late"] : [],
});

/** Takes one run of its kind, begins it and disappears: something for people to find. */
async function workOnce(world, name) {
  const { claimed, run_id } = await world.call(name, "workflow_claim", { agent_id: name, tags: { pool: "gpu" }, ttl_seconds: 15 });
  if (claimed) {
    await world.call(name, "workflow_checkpoint", { run_id, step: 1, output: { did: "loaded the model" }, agent_id: name });
    await world.sleep(1_200_000);
  }
  await world.sleep(10_000);
}

/** Waits for a resource, uses it under the protection of its token, and releases it. */
async function contend(world, name) {
  const resource = pick(world, resources);
  const { acquired, token } = await world.call(name, "lease_acquire", { resource_id: resource, holder_id: name, ttl_seconds: 30, wait_seconds: 8 });
  if (!acquired) return world.sleep(between(world, 3_000, 8_000));
  const key = `status/${resource}`;
  await world.call(name, "state_set", { key, value: { busy: true, by: name }, lease: { resource_id: resource, token }, agent_id: name });
  for (let left = Math.floor(between(world, 1, 4)); left > 0 && !world.over(); left -= 1) {
    await world.sleep(between(world, 4_000, 9_000));
    await world.call(name, "lease_renew", { resource_id: resource, holder_id: name, ttl_seconds: 30, token });
  }
  if (resource === "deploy/production") {
    const version = `2.${Math.floor(between(world, 4, 9))}.${Math.floor(between(world, 0, 30))}`;
    await world.call(name, "state_set", {
      key: "release/current",
      value: { version, by: name, checks: { smoke: "passed", budget: Number(world.random().toFixed(2)) } },
      lease: { resource_id: resource, token },
      agent_id: name,
    });
  }
  await world.call(name, "state_set", { key, value: { busy: false, last: name }, lease: { resource_id: resource, token }, agent_id: name });
  // Sometimes the lease is left to lapse.
  if (world.random() < 0.9) await world.call(name, "lease_release", { resource_id: resource, holder_id: name, token });
  await world.sleep(between(world, 6_000, 20_000));
}

/** Metrics that change all the time, flags that change now and then, and entries that expire. */
async function measure(world, name) {
  const what = world.random();
  if (what < 0.5) {
    const service = pick(world, ["checkout", "search", "pricing", "invoices"]);
    await world.call(name, "state_set", {
      key: `metrics/${service}/latency-ms`,
      value: { p50: Math.floor(between(world, 8, 40)), p99: Math.floor(between(world, 90, 400)) },
      agent_id: name,
    });
  } else if (what < 0.7) {
    await world.call(name, "state_set", { key: `queue/${pick(world, ["emails", "webhooks", "thumbnails"])}/depth`, value: Math.floor(between(world, 0, 900)), agent_id: name });
  } else if (what < 0.8) {
    const flag = pick(world, flags);
    const { found, value, version } = await world.call(name, "state_get", { key: `config/flags/${flag}` });
    const share = Math.min(100, (found ? value.share : 0) + 10) % 100;
    await world.call(name, "state_set", { key: `config/flags/${flag}`, value: { share, on: share > 0 }, expected_version: found ? version : 0, agent_id: name });
  } else if (what < 0.95) {
    await world.call(name, "state_set", {
      key: `cache/preview/${Math.floor(between(world, 1, 40))}`,
      value: { rendered: true, bytes: Math.floor(between(world, 900, 90_000)) },
      ttl_seconds: 120,
      agent_id: name,
    });
  } else
    await world.call(name, "session_save", { session_id: `${name}-${Math.floor(world.random() * 1e9)}`, context: { watching: flags, since: world.now() }, ttl_seconds: 3_600 });
  await world.sleep(between(world, 1_500, 4_000));
}

async function keepJournal(world) {
  const { workspace, branch, text, highlights, files, tags } = pick(world, journal);
  await world.call("scribe", "checkpoint", {
    action: "save",
    description: text,
    highlights,
    activeFiles: files,
    tags,
    gitBranch: branch,
    workspace,
    sessionId: `${workspace}-today`,
  });
  await world.sleep(between(world, 60_000, 200_000));
}

async function keepNotes(world) {
  for (const note of notes) {
    if (world.over()) return;
    await world.call("reviewer", "save_knowledge", note);
    await world.sleep(between(world, 10_000, 40_000));
  }
  const note = pick(world, notes);
  await world.call("reviewer", "save_knowledge", { ...note, content: `${note.content}\n\nChecked again; still true.` });
  await world.sleep(between(world, 120_000, 400_000));
}

async function study(world) {
  for (const checkpoint of research) {
    if (world.over()) return;
    await world.call("researcher", "save_checkpoint", checkpoint);
    await world.sleep(between(world, 90_000, 300_000));
  }
  await world.sleep(600_000);
}

/** Pseudo-random numbers that are the same every time. */
export function seeded(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Who is authenticated when one of them calls: several agents work under one token, as they do in real life. */
export const principalOf = (agent) => (/^(builder|deployer|migrator)$/.test(agent) ? "ci" : /^(worker-|gpu-)/.test(agent) ? "fleet" : "desk");
