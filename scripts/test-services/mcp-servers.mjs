// Reference servers of MCP, pinned, in .cache/mcp-servers: everything, filesystem and memory. `node scripts/test-services/mcp-servers.mjs` prints where the first
// one's program is; the others are next to it. Install scripts are skipped: they need none.
import { printed, requirePackage } from "./npm-package.mjs";

const version = "2026.8.31";

printed(() =>
  requirePackage({
    folder: "mcp-servers",
    name: "@modelcontextprotocol/server-everything",
    version,
    program: "dist/index.js",
    who: "The stories need reference servers of MCP",
    more: ["filesystem", "memory"].map((name) => `@modelcontextprotocol/server-${name}@${version}`),
  }),
);
