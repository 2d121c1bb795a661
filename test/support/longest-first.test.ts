import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import type { TestSpecification, Vitest } from "vitest/node";
import { LongestFirst, longForTheirSize } from "./longest-first.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

test("every file that is to start first exists", () => {
  expect(longForTheirSize.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test("files that take long for their size start first, then the larger ones", async () => {
  const sizes: Readonly<Record<string, number>> = { "test/small.test.ts": 10, "test/large.test.ts": 1_000, "test/store/postgres.test.ts": 1, "test/linear-time.test.ts": 2 };
  const project = { name: "", config: { isolate: false, sequence: { groupOrder: 0 } } };
  const files = Object.keys(sizes).map((path) => ({ moduleId: join(root, path), project }) as unknown as TestSpecification);
  const cache = { getFileTestResults: () => undefined, getFileStats: (key: string) => ({ size: sizes[key.slice(1)] }) };
  const sorted = await new LongestFirst({ config: { root }, cache } as unknown as Vitest).sort(files);
  expect(sorted.map(({ moduleId }) => moduleId.slice(root.length))).toEqual([
    "test/store/postgres.test.ts",
    "test/linear-time.test.ts",
    "test/large.test.ts",
    "test/small.test.ts",
  ]);
});
