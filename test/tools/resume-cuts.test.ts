import { describe, expect, test } from "vitest";
import { estimateTokens } from "../../src/kernel/tokens.ts";
import { openTools } from "./open-tools.ts";

/** Every second line is long: a packer that tries shorter ones after it would leave lines out of the middle. */
const lines = Array.from({ length: 30 }, (_, i) => `Line ${String(i).padStart(2, "0")}${i % 2 === 0 ? ` ${"and so on ".repeat(18)}` : ""}`);

describe("a text that does not fit a resume", () => {
  test.each([200, 300, 400, 600, 1_000, 4_000])("is cut at its end and marked there, in %i tokens", async (max_tokens) => {
    const { call } = openTools();
    await call("checkpoint", { workspace: "here", description: lines.join("\n").slice(0, 1_990), workContext: lines.slice(0, 12).join("\n") });
    const { text } = await call("resume", { workspace: "here", max_tokens });
    expect(estimateTokens(text)).toBeLessThanOrEqual(max_tokens);
    // Description and context begin with line 00; each goes on without a gap, and one that ends early says so.
    let last: number | undefined;
    let isOver = false;
    for (const line of (text as string).split("\n")) {
      const [, number] = /^> Line (\d\d)/.exec(line) ?? [];
      if (/^> …$/.test(line)) isOver = true;
      if (number === undefined) continue;
      if (number === "00") isOver = false;
      else expect([line, Number(number)]).toEqual([line, (last as number) + 1]);
      expect(isOver, line).toBe(false);
      last = Number(number);
    }
    if (max_tokens < 400) expect(text).toMatch(/^> …$/m);
    if (max_tokens === 4_000) expect(text).not.toMatch(/^> …$/m);
  });

  test("of many open runs and leases the newest are shown", async () => {
    const { call } = openTools();
    for (let i = 0; i < 40; i += 1) {
      await call("workflow_create", { name: "job", run_id: `r${(i * 17) % 40}-${i}` });
      await call("workflow_claim", { run_id: `r${(i * 17) % 40}-${i}`, agent_id: "a" });
    }
    const { text } = await call("resume", { workspace: "here", agent_id: "a", max_tokens: 400 });
    const shown = [...(text as string).matchAll(/→ workflow_resume r\d+-(\d+)/g)].map(([, i]) => Number(i));
    expect(shown.length).toBeGreaterThan(1);
    expect(shown).toEqual(shown.map((_, i) => 39 - i));
  });

  test("a restore shows a few of many leases and counts the others", async () => {
    const { call } = openTools();
    await call("checkpoint", { workspace: "here", description: "Done" });
    for (let i = 0; i < 90; i += 1) await call("lease_acquire", { resource_id: `elsewhere/${i}`, holder_id: "a", ttl_seconds: 60 });
    const { formattedOutput } = await call("checkpoint", { workspace: "here", depth: "minimal" });
    expect([...formattedOutput.matchAll(/lease elsewhere/g)]).toHaveLength(10);
    expect(formattedOutput).toContain("80 other leases held");
    expect(formattedOutput).not.toContain("Open in this workspace");
  });
});

test("a long line of a stored text is broken between words only", async () => {
  const { call } = openTools();
  const words = Array.from({ length: 60 }, (_, i) => `src/part-${i}/index.ts`);
  await call("checkpoint", { workspace: "here", description: words.join(" ") });
  const { text } = await call("resume", { workspace: "here", max_tokens: 4_000 });
  for (const word of words) expect(` ${(text as string).replaceAll("\n", " ")} `).toContain(` ${word} `);
});
