import { access, readdir, readlink, rm } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { soon, until } from "../support/soon.ts";
import type { Era } from "./inspector.ts";
import { openInspector } from "./inspector.ts";
import type { InstalledPackage } from "./installed-package.ts";
import { installPackage, readPid } from "./installed-package.ts";

let installed: InstalledPackage;
beforeAll(async () => {
  installed = await installPackage();
});
afterAll(() => installed.remove());

/** From then on the server is at what it was started for. */
async function hasStoreOpen(pid: number): Promise<boolean> {
  const descriptors = await readdir(`/proc/${pid}/fd`);
  const files = await Promise.all(descriptors.map((name) => readlink(`/proc/${pid}/fd/${name}`).catch(() => "")));
  return files.some((file) => file.endsWith("holdfast.db"));
}

/** Longer than all that is done under the claim takes, also where processes start slowly; the last one is left to lapse. */
const claimSeconds = 120;
const lastClaimSeconds = 3;

describe.each<Era>(["legacy", "modern"])("the installed package and the official Inspector, %s era", (era) => {
  const agents = { first: `first-${era}`, second: `second-${era}` };

  test("lists its tools without a portability error", async () => {
    const inspector = await openInspector(installed, era);
    const { exitCode, result, stderr } = await inspector.inspect("--method", "tools/list", "--strict");
    expect(stderr).toMatch(/\b0 errors\b/);
    expect(exitCode).toBe(0);
    expect(result.tools.map(({ name }: { name: string }) => name)).toContain("workflow_claim");
  });

  test("a call sent again with its request key gives the first answer and no second effect", async () => {
    const inspector = await openInspector(installed, era);
    const send = () => inspector.call("state_set", { key: `counter-${era}`, value: { n: 1 } }, `key-${era}`);
    const first = await send();
    expect(await send()).toEqual(first);
    const { version } = await inspector.call("state_get", { key: `counter-${era}` });
    expect(version).toBe(1);
  });

  test("claim, checkpoint, crash, resume: the successor continues after the last acknowledged step", async () => {
    const inspector = await openInspector(installed, era);
    const { run_id } = await inspector.call("workflow_create", { name: "release", tags: { era }, input: { steps: 3 } });

    // Two clients with a server process each, at the same time.
    const claim = (agent_id: string) => inspector.call("workflow_claim", { run_id, agent_id, ttl_seconds: claimSeconds });
    const claims = await Promise.all([claim(agents.first), claim(agents.second)]);
    const won = claims.find((answer) => answer.claimed);
    const refused = claims.find((answer) => !answer.claimed);
    expect(refused).toMatchObject({ claimed: false, reason: "held", agent_id: won.agent_id });
    const successor = won.agent_id === agents.first ? agents.second : agents.first;

    for (const step of [1, 2]) await inspector.call("workflow_checkpoint", { run_id, step, output: { step }, agent_id: won.agent_id, token: won.token });

    // The winner waits for an approval that never comes, and its server is killed in the middle of the call.
    expect(await inspector.call("lease_renew", { resource_id: `workflow/${run_id}`, holder_id: won.agent_id, ttl_seconds: lastClaimSeconds })).toMatchObject({ renewed: true });
    await rm(installed.pidFile, { force: true });
    const waiting = inspector.callTool("state_get", { key: `approval-${era}`, wait_for_version_above: 0, wait_seconds: 50 });
    await soon(() => access(installed.pidFile));
    const pid = await readPid(installed.pidFile);
    await until(() => hasStoreOpen(pid));
    process.kill(pid, "SIGKILL");
    expect((await waiting).exitCode).not.toBe(0);

    let taken = await claim(successor);
    // Each attempt is a process of its own, which takes longer than any pause between them.
    while (!taken.claimed) taken = await claim(successor);
    expect(taken.token).toBeGreaterThan(won.token);
    const resumed = await inspector.call("workflow_resume", { run_id });
    expect(resumed).toMatchObject({ last_step: 2, step_outputs: { "1": { step: 1 }, "2": { step: 2 } }, input: { steps: 3 }, meta: { agent_id: successor } });

    const late = await inspector.callTool("workflow_checkpoint", { run_id, step: 3, output: "too late", agent_id: won.agent_id, token: won.token });
    expect(late.result).toMatchObject({ isError: true, structuredContent: { error: { code: "claim_lost", details: { successor } } } });

    await inspector.call("workflow_checkpoint", { run_id, step: 3, output: { step: 3 }, agent_id: successor });
    expect(await inspector.call("workflow_finish", { run_id, status: "done", agent_id: successor })).toMatchObject({ status: "done", attempts: 2 });

    const { result } = await inspector.inspect("--method", "resources/read", "--uri", `holdfast://workflow/${run_id}`);
    expect(JSON.parse(result.contents[0].text)).toMatchObject({ last_step: 3 });
    const { entries } = await inspector.call("history_log", { key: run_id, kind: "workflow", n: 50 });
    expect(entries.filter(({ op }: { op: string }) => op === "checkpoint")).toHaveLength(3);
  });
});
