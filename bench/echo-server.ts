import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { echoServerOf } from "./echo-tool.ts";

/** The floor of the stdio road. */
serveStdio(echoServerOf);
