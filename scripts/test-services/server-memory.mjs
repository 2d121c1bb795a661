// MCP's reference memory server, pinned, in .cache/server-memory: the benches compare with it. `node scripts/test-services/server-memory.mjs` prints its program.
import { printed, requirePackage } from "./npm-package.mjs";

printed(() =>
  requirePackage({
    folder: "server-memory",
    name: "@modelcontextprotocol/server-memory",
    version: "2026.8.31",
    program: "dist/index.js",
    who: "The benches compare with the reference memory server",
  }),
);
