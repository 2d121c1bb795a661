import "../../support/vitest-globals.ts";
import { deltaChannelHistoryTests, validate } from "@langchain/langgraph-checkpoint-validation";
import { describe, expect, test } from "vitest";
import { HoldfastSaver } from "../../../src/langgraph.ts";
import { runCollected } from "../../support/collected-suite.ts";
import { engineNamed } from "../../support/engines.ts";
import { saversOn } from "./open-savers.ts";

// Some of its tests count what the ones before them stored.
describe("LangGraph's own suite for checkpointers", { shuffle: false }, () => {
  const savers = saversOn(engineNamed("SQLite"));
  validate(savers);
  deltaChannelHistoryTests(savers);
});

class WithoutWrites extends HoldfastSaver {
  override async putWrites(): Promise<void> {}
}

class WithoutCarriedValues extends HoldfastSaver {
  override async put(...[config, checkpoint, metadata, newVersions]: Parameters<HoldfastSaver["put"]>) {
    const channel_versions = Object.fromEntries(Object.entries(checkpoint.channel_versions).filter(([channel]) => channel in newVersions));
    return super.put(config, { ...checkpoint, channel_versions }, metadata, newVersions);
  }
}

class WithoutBefore extends HoldfastSaver {
  override list(...[config, options]: Parameters<HoldfastSaver["list"]>) {
    return super.list(config, { ...options, before: undefined });
  }
}

describe("LangGraph's own suite finds a saver", () => {
  const sound = saversOn(engineNamed("memory"));
  const faulty = {
    "that drops pending writes": saversOn(engineNamed("memory"), (holdfast) => new WithoutWrites(holdfast)),
    "that loses the values of unchanged channels": saversOn(engineNamed("memory"), (holdfast) => new WithoutCarriedValues(holdfast)),
    "that lists checkpoints from the newest whatever is asked": saversOn(engineNamed("memory"), (holdfast) => new WithoutBefore(holdfast)),
  };

  test.each(Object.entries(faulty))("%s", async (_what, savers) => {
    const { passed, failed } = await runCollected(() => validate(savers));
    expect(failed.length).toBeGreaterThan(0);
    expect(passed).toBeGreaterThan(0);
  });

  test("and none in a sound one, run the same way", async () => {
    const { passed, failed } = await runCollected(() => validate(sound));
    expect(failed).toEqual([]);
    expect(passed).toBeGreaterThan(700);
  });
});
