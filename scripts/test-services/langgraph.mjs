// LangGraph with LangChain's adapter for MCP, pinned, in .cache/langgraph. `node scripts/test-services/langgraph.mjs` prints where the adapter's entry is; its
// dependencies are installed in the same folder.
import { langgraphPackages } from "./langgraph-packages.mjs";
import { printed, requirePackage } from "./npm-package.mjs";

printed(() =>
  requirePackage({
    folder: "langgraph",
    name: "@langchain/mcp-adapters",
    version: "1.1.4",
    program: "dist/index.js",
    who: "The stories need LangGraph and its adapter for MCP",
    ...langgraphPackages,
  }),
);
