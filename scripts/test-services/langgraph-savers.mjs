// LangGraph with the checkpointers that come with it, pinned, in .cache/langgraph-savers, to be compared with ours. `node scripts/test-services/langgraph-savers.mjs`
// prints where the PostgreSQL saver's entry is; the rest is installed in the same folder. Nothing is compiled: the SQLite saver gets its database from our driver.
import { langgraphPackages } from "./langgraph-packages.mjs";
import { printed, requirePackage } from "./npm-package.mjs";

printed(() =>
  requirePackage({
    folder: "langgraph-savers",
    name: "@langchain/langgraph-checkpoint-postgres",
    version: "1.0.5",
    program: "dist/index.js",
    who: "The comparisons with LangGraph's own checkpointers need them",
    more: ["@langchain/langgraph-checkpoint-sqlite@1.0.4", ...langgraphPackages.more],
    flags: langgraphPackages.flags,
  }),
);
