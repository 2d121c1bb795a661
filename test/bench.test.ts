import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { slopePer } from "../bench/flat-memory.ts";
import { HttpClient } from "../bench/http-client.ts";
import { LineClient } from "../bench/line-client.ts";
import type { Figure } from "../bench/report.ts";
import { isKept, renderTable } from "../bench/report.ts";
import { measureAgainst, quantile } from "../bench/rounds.ts";

const folder = mkdtempSync(join(tmpdir(), "holdfast-bench-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const steady = (value: number) => ({ median: value, min: value, max: value });
const figure = (over: Partial<Figure>): Figure => ({ what: "calls", unit: "per second", value: steady(100), ...over });

test("a budget is judged by the ratio where there is a floor, else by the figure", () => {
  const floor = { what: "echo", value: 200 };
  expect(isKept(figure({ floor, ratio: steady(0.5), budget: { atLeast: 0.6 } }))).toBe(false);
  expect(isKept(figure({ floor, ratio: steady(0.6), budget: { atLeast: 0.6 } }))).toBe(true);
  expect(isKept(figure({ floor, ratio: steady(1.51), budget: { atMost: 1.5 } }))).toBe(false);
  expect(isKept(figure({ unit: "ms", value: steady(10.1), budget: { atMost: 10 } }))).toBe(false);
  expect(isKept(figure({ unit: "ms", value: steady(9.9), budget: { atMost: 10 } }))).toBe(true);
  expect(isKept(figure({}))).toBeUndefined();
});

test("the table says which budget is broken", () => {
  const lines = renderTable([
    figure({ what: "kept", ratio: steady(0.7), budget: { atLeast: 0.6 } }),
    figure({ what: "broken", ratio: steady(0.5), budget: { atLeast: 0.6 } }),
    figure({ what: "only told" }),
  ]).split("\n");
  expect(lines[1]).toMatch(/^kept .* ok$/);
  expect(lines[2]).toMatch(/^broken .* OVER$/);
  expect(lines[3]).not.toMatch(/ok|OVER/);
});

test("a figure is compared with the floors just before and after it, so that a machine that slows down for both changes no ratio", async () => {
  // The machine gets slower with every measurement; the figure stays at half of what the floor would give at the same moment.
  let moment = 0;
  const speed = (): number => 1_000 - 10 * moment++;
  const { half } = await measureAgainst(
    async () => speed(),
    { half: async () => speed() / 2 },
    5,
    () => {},
  );
  expect(half.ratio.min).toBeCloseTo(0.5, 5);
  expect(half.ratio.max).toBeCloseTo(0.5, 5);
  expect(half.figure.max).toBeGreaterThan(half.figure.min);
});

test("quantiles are of the sorted values", () => {
  const values = Array.from({ length: 100 }, (_, i) => 99 - i);
  expect(quantile(values, 0.5)).toBe(50);
  expect(quantile(values, 0.95)).toBe(95);
});

test("a leak tilts the slope and a garbage collection does not", () => {
  const noise = [0, 9, 1, -6, 2, 0, -1, 8, -7, 1];
  const samples = (leakPerSample: number) => Array.from({ length: 40 }, (_, i) => ({ calls: i * 10_000, mebibytes: 80 + leakPerSample * i + (noise[i % noise.length] as number) }));
  expect(Math.abs(slopePer(samples(0), 100_000))).toBeLessThan(1);
  expect(slopePer(samples(0.5), 100_000)).toBeGreaterThan(4);
});

test("a server that answers with errors or dies ends the measurement instead of counting as fast", async () => {
  const server = (reply: string): string => {
    const file = join(folder, `${Math.random().toString(36).slice(2)}.mjs`);
    writeFileSync(
      file,
      `let calls = 0;
      process.stdin.on("data", (chunk) => {
        for (const line of String(chunk).split("\\n").filter(Boolean)) {
          const { id, method } = JSON.parse(line);
          if (method === "initialize") process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result: {} }) + "\\n");
          if (method === "tools/call") ${reply};
        }
      });`,
    );
    return file;
  };
  const burst = async (reply: string) => {
    const client = await LineClient.open({ file: server(reply) });
    try {
      return await client.burst({ inFlight: 4, calls: 100, tool: "any", argumentsOf: () => ({}) });
    } finally {
      await client.close();
    }
  };
  const answer = (result: string): string => `process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result: ${result} }) + "\\n")`;
  await expect(burst(answer('{ content: [], structuredContent: { error: { code: "internal" } }, isError: true }'))).rejects.toThrow("any failed");
  await expect(burst(`if (++calls > 20) process.exit(3); else ${answer("{}")}`)).rejects.toThrow("ended with 3");
  expect((await burst(answer("{}"))).calls).toBe(100);
});

test("an HTTP server that answers with errors or goes away ends the measurement instead of counting as fast", async () => {
  const server = (reply: string): string => {
    const file = join(folder, `${Math.random().toString(36).slice(2)}.mjs`);
    writeFileSync(
      file,
      `import { createServer } from "node:http";
      let calls = 0;
      const server = createServer((request, response) => request.resume().on("end", () => { calls += 1; ${reply} }));
      server.listen(0, "127.0.0.1", () => console.log(JSON.stringify({ url: "http://127.0.0.1:" + server.address().port })));`,
    );
    return file;
  };
  const burst = async (reply: string) => {
    const client = await HttpClient.open({ file: server(reply) }, 4);
    try {
      return await client.burst({ calls: 50, tool: "any", argumentsOf: () => ({}) });
    } finally {
      await client.close();
    }
  };
  const answer = (status: number, text: string): string => `response.writeHead(${status}, { "content-length": ${text.length} }); response.end('${text}');`;
  await expect(burst(answer(200, '{"result":{"isError":true}}'))).rejects.toThrow("A call failed");
  await expect(burst(answer(429, "{}"))).rejects.toThrow("A call failed");
  await expect(burst(`if (calls > 20) process.exit(3); else { ${answer(200, "{}")} }`)).rejects.toThrow("closed a connection");
  expect(await burst(answer(200, "{}"))).toMatchObject({ calls: 50 });
  // The SDK's own way: in chunks, without a length.
  expect(await burst("response.writeHead(200); response.end('{}');")).toMatchObject({ calls: 50 });
});
