import "../support/vitest-globals.ts";
import { deltaChannelHistoryTests, validate } from "@langchain/langgraph-checkpoint-validation";
import { sharedEngines } from "../support/engines.ts";
import { saversOn } from "../surfaces/langgraph/open-savers.ts";

/** LangGraph's own suite, which `npm test` runs on SQLite. */
for (const on of sharedEngines) {
  const savers = saversOn(on);
  validate(savers);
  deltaChannelHistoryTests(savers);
}
