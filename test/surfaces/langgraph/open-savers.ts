import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CheckpointSaverTestInitializer } from "@langchain/langgraph-checkpoint-validation";
import { afterAll } from "vitest";
import type { Holdfast } from "../../../src/index.ts";
import { openHoldfast } from "../../../src/index.ts";
import { HoldfastSaver } from "../../../src/langgraph.ts";
import type { EngineUnderTest } from "../../support/engines.ts";

/** Savers for LangGraph's own suite, in one store of an engine, each in a namespace of its own. Call it outside of tests. */
export function saversOn(
  on: EngineUnderTest,
  open: (holdfast: Holdfast) => HoldfastSaver = (holdfast) => new HoldfastSaver(holdfast),
): CheckpointSaverTestInitializer<HoldfastSaver> {
  const opened = new Map<HoldfastSaver, Holdfast>();
  let url: Promise<string> | undefined;
  let folder: string | undefined;
  // The suite makes savers before its tests, where no test can own a folder.
  const openUrl = async (): Promise<string> => {
    if (on.name !== "SQLite") return on.freshUrl();
    folder = await mkdtemp(join(tmpdir(), "holdfast-savers-"));
    return `sqlite:${join(folder, "store.db")}`;
  };
  afterAll(async () => {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });
  return {
    checkpointerName: `HoldfastSaver on ${on.name}`,
    beforeAllTimeout: 0,
    async createCheckpointer() {
      url ??= openUrl();
      const holdfast = await openHoldfast({ store: await url, namespace: `saver-${opened.size + 1}`, maintain: false });
      const saver = open(holdfast);
      opened.set(saver, holdfast);
      return saver;
    },
    destroyCheckpointer: async (saver) => opened.get(saver)?.close(),
  };
}
