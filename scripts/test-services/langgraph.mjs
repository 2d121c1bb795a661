// LangGraph with LangChain's adapter for MCP, pinned, in .cache/langgraph. `node scripts/test-services/langgraph.mjs` prints where the adapter's entry is; its
// dependencies are installed in the same folder.
import { printed, requirePackage } from "./npm-package.mjs";

printed(() =>
  requirePackage({
    folder: "langgraph",
    name: "@langchain/mcp-adapters",
    version: "1.1.4",
    program: "dist/index.js",
    who: "The stories need LangGraph and its adapter for MCP",
    more: ["@langchain/core@1.2.13", "@langchain/langgraph@1.4.18"],
  }),
);
