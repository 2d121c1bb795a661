import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { echoServerOf } from "./echo-tool.ts";

/** The floor of the stdio transport. */
serveStdio(echoServerOf);
