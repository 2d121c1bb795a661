// The official conformance suite of MCP, pinned, in .cache/conformance. `node scripts/test-services/conformance.mjs` prints where its program is.
// It needs Node 22 or newer: run it with the Node of node24.mjs. Install scripts are skipped: it needs none.
import { printed, requirePackage } from "./npm-package.mjs";

printed(() =>
  requirePackage({
    folder: "conformance",
    name: "@modelcontextprotocol/conformance",
    version: "0.2.0-alpha.12",
    program: "dist/index.js",
    who: "The stories need the conformance suite of MCP",
  }),
);
