// LangGraph with the checkpointers that come with it, pinned, in .cache/langgraph-savers, to be compared with ours. `node scripts/test-services/langgraph-savers.mjs`
// prints where the PostgreSQL saver's entry is; the rest is installed in the same folder. Nothing is compiled: the SQLite saver gets its database from our driver.
import { printed, requirePackage } from "./npm-package.mjs";

printed(() =>
  requirePackage({
    folder: "langgraph-savers",
    name: "@langchain/langgraph-checkpoint-postgres",
    version: "1.0.5",
    program: "dist/index.js",
    who: "The comparisons with LangGraph's own checkpointers need them",
    // All that have peers are named, because npm takes very long to choose among their versions by itself.
    more: [
      "@langchain/langgraph-checkpoint-sqlite@1.0.4",
      "@langchain/langgraph-checkpoint@1.1.5",
      "@langchain/langgraph@1.4.18",
      "@langchain/langgraph-sdk@1.12.0",
      "@langchain/protocol@0.0.19",
      "@langchain/core@1.2.13",
      "zod@4.6.7",
    ],
    flags: ["--legacy-peer-deps"],
  }),
);
