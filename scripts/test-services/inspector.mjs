// The official MCP Inspector, pinned, in .cache/inspector. `node scripts/test-services/inspector.mjs` prints where its launcher is.
// It needs Node 22.19 or newer: run it with the Node of node24.mjs. Install scripts are skipped: the command line needs none.
import { printed, requirePackage } from "./npm-package.mjs";

printed(() =>
  requirePackage({
    folder: "inspector",
    name: "@modelcontextprotocol/inspector",
    version: "2.12.0",
    program: "clients/launcher/build/index.js",
    who: "The stories need the MCP Inspector",
  }),
);
