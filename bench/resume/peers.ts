import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { asEntity, openServerMemory } from "../peer-server.ts";
import type { PackScore } from "./score-pack.ts";
import { scorePack } from "./score-pack.ts";
import type { Situation } from "./situation.ts";

/** Fields of a call that contain what an agent wanted to keep, in the order in which they are returned. */
const kept = ["description", "content", "workContext", "highlights", "goal", "input", "output", "value", "thesis", "core_question"];

/** The output of the reference memory server's only call for this purpose, `read_graph`, cut to the budget: everything that was written, oldest first. */
export async function scoreServerMemory(situation: Situation, tokensMax: number): Promise<PackScore> {
  await using server = await openServerMemory(mkdtempSync(join(tmpdir(), "holdfast-peer-")));
  for (const [i, step] of situation.steps.entries()) {
    if (!("call" in step)) continue;
    const texts = kept.flatMap((field) => step.with?.[field] ?? []).map((value) => (typeof value === "string" ? value : JSON.stringify(value)));
    if (texts.length > 0) await server.call("create_entities", { entities: [asEntity(`${step.call}-${i}`, ...texts)] });
  }
  return scorePack(situation, [...(await server.call("read_graph", {}))].slice(0, tokensMax * 4).join(""), tokensMax);
}
