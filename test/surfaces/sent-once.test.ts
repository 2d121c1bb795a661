import { describe, expect, test } from "vitest";
import type { Profile } from "../../src/tools/profiles.ts";
import { selectTools } from "../../src/tools/profiles.ts";
import type { RawConnection } from "../support/mcp-connection.ts";
import { openRaw, shakeHands } from "../support/mcp-connection.ts";

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely
type Result = any;

const marker = "a nightly batch is the peak of the load";
const countIn = (value: unknown): number => JSON.stringify(value).split(marker).length - 1;

async function open(profile: Profile): Promise<RawConnection> {
  const connection = openRaw({ tools: selectTools({ profile }), server: { profile } });
  await shakeHands(connection, "handshake");
  return connection;
}
const callOn =
  (connection: RawConnection) =>
  async (name: string, args: object): Promise<Result> =>
    (await connection.request("tools/call", { name, arguments: args })).result;

const reads: readonly (readonly [name: string, field: string, keptIn: Profile, other: Profile, read: (call: ReturnType<typeof callOn>) => Promise<Result>])[] = [
  [
    "recall_knowledge",
    "formatted_context",
    "sage",
    "default",
    async (call) => {
      await call("save_knowledge", { id: "peak", content: `Measured: ${marker}.` });
      return call("recall_knowledge", { query: "when is the peak of the load" });
    },
  ],
  [
    "load_checkpoint",
    "formatted_context",
    "sage",
    "all",
    async (call) => {
      await call("save_checkpoint", { core_question: "When?", thesis: `Measured: ${marker}.`, confidence: 0.5 });
      return call("load_checkpoint", { checkpoint_id: "measured" });
    },
  ],
  [
    "checkpoint",
    "formattedOutput",
    "goldfish",
    "default",
    async (call) => {
      await call("checkpoint", { description: `Measured: ${marker}.`, workspace: "shop" });
      return call("checkpoint", { workspace: "shop" });
    },
  ],
];

describe.each(reads)("%s", (_name, field, keptIn, other, read) => {
  test(`says a stored text once in the text and once as data; the data has no ${field} beside it`, async () => {
    await using connection = await open(other);
    const { content, structuredContent } = await read(callOn(connection));
    expect(content).toHaveLength(1);
    expect(countIn(content)).toBe(1);
    expect(countIn(structuredContent)).toBe(1);
    expect(structuredContent).not.toHaveProperty(field);
  });

  test(`keeps ${field} where ${keptIn} documents it, and costs less elsewhere`, async () => {
    await using own = await open(keptIn);
    const documented = await read(callOn(own));
    expect(documented.structuredContent[field]).toContain(marker);
    expect(documented.content[0].text).toContain(documented.structuredContent[field]);
    await using elsewhere = await open(other);
    expect(JSON.stringify(await read(callOn(elsewhere))).length).toBeLessThan(JSON.stringify(documented).length);
  });
});
