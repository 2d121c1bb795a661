import { build } from "esbuild";
import { expect, test } from "vitest";
import { openDashboardPage } from "./support/dashboard-page.ts";

test("the remote client works in a browser: writes, refusals, a wait and a watch", async () => {
  await using dashboard = await openDashboardPage();
  await using tab = await dashboard.open("/");
  const { outputFiles } = await build({
    entryPoints: ["src/client.ts"],
    bundle: true,
    format: "iife",
    globalName: "holdfastClient",
    platform: "browser",
    write: false,
    logLevel: "silent",
  });
  const story = `(async () => {
    ${outputFiles[0]?.text}
    const holdfast = await holdfastClient.connectHoldfast(location.origin, { agent: "page" });
    const seen = [];
    const watching = (async () => { for await (const { key } of holdfast.state.watch({ prefix: "page/", after: 0 })) { seen.push(key); if (seen.length === 2) return; } })();
    const waiting = holdfast.state.waitFor("page/two", { versionAbove: 0, timeoutMs: 60_000 });
    await holdfast.state.set("page/one", 1);
    await holdfast.state.set("page/two", { from: "a page" });
    await watching;
    const lease = await holdfast.leases.acquire("door", { ttlMs: 60_000 });
    const refused = await holdfast.state.set("page/one", 2, { expectedVersion: 7 });
    return { seen, waited: (await waiting).value, held: lease.ok, refused: refused.actualVersion };
  })()`;
  expect(await tab.page.evaluate(story)).toEqual({ seen: ["page/one", "page/two"], waited: { from: "a page" }, held: true, refused: 1 });
  expect(tab.faults).toEqual([]);
});
