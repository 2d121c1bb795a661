import { mkdtempSync } from "node:fs";
import { resolve } from "node:path";
import { estimateTokens } from "../../src/kernel/tokens.ts";
import { asEntity, openServerMemory } from "../peer-server.ts";
import type { Recalled, WordedRow } from "./blind.ts";
import { answersMax, scoreQuestions } from "./blind.ts";
import type { Worded } from "./worded-set.ts";
import { readWordedNotes, savedWays } from "./worded-set.ts";

interface Graph {
  readonly entities: readonly { readonly name: string; readonly observations: readonly string[] }[];
}

/**
 * The same set with another memory server: everything that it returns counts as its answer, because it has no second tier. Several wordings are several calls, whose
 * answers are concatenated.
 */
export async function* measurePeers({
  folder,
  set,
  progress,
}: {
  readonly folder: string;
  readonly set: Worded;
  readonly progress: (text: string) => void;
}): AsyncGenerator<WordedRow> {
  for (const saved of savedWays) {
    await using server = await openServerMemory(mkdtempSync(resolve(folder, "peer-")));
    const notes = readWordedNotes(set, saved);
    const entities = notes.map(({ id, content, keywords = [], questions = [] }) => asEntity(id, content, ...keywords, ...questions));
    await server.call("create_entities", { entities });
    const ask = async (query: string, also: readonly string[] = []): Promise<Recalled> => {
      const texts: string[] = [];
      for (const wording of [query, ...also]) texts.push(await server.call("search_nodes", { query: wording }));
      const found = texts.flatMap((text) => (JSON.parse(text) as Graph).entities.map(({ name }) => name));
      return { items: [...new Set(found)].slice(0, answersMax), maybe: [], tokens: estimateTokens(texts.join("\n")) };
    };
    for (const asked of ["one question", "four wordings"] as const) {
      const { p95CpuMs: _ofTheClient, ...row } = await scoreQuestions(set, asked, ask, progress);
      yield { system: server.name, notes: notes.length, saved, asked, ...row };
    }
  }
}
