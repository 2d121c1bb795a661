import { expect, test } from "vitest";
import { openTools } from "./open-tools.ts";

test("a cursor continues its own list only: that of other filters is refused", async () => {
  const { call, fails } = openTools();
  for (const i of [1, 2, 3]) {
    await call("state_set", { key: `a/${i}`, value: i });
    await call("state_set", { key: `a/b/${i}`, value: i });
    await call("workflow_create", { name: "job", tags: { team: "x" } });
  }
  const lists: [tool: string, args: Record<string, unknown>, others: Record<string, unknown>[]][] = [
    ["workflow_discover", { tags: { team: "x" }, limit: 1 }, [{}, { tags: { team: "y" } }, { claimable: true }, { status: "created" }]],
    ["history_log", { prefix: "a/", n: 1 }, [{}, { kind: "state" }, { prefix: "a/b/" }, { key: "a/1" }, { writer: "tester" }]],
    ["state_list", { prefix: "a/", limit: 1 }, [{}, { prefix: "a" }]],
    ["list_state", { pattern: "a/%", limit: 1 }, [{}, { pattern: "a/_" }]],
  ];
  for (const [tool, args, others] of lists) {
    const { cursor } = await call(tool, args);
    await call(tool, { ...args, cursor });
    for (const other of others) expect([tool, other, (await fails(tool, { ...other, cursor })).details?.field]).toEqual([tool, other, "cursor"]);
    for (const another of ["workflow_list", ...lists.map(([name]) => name)])
      if (another !== tool) expect([tool, another, (await fails(another, { cursor })).details?.field]).toEqual([tool, another, "cursor"]);
  }
});
