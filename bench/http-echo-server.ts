import type { Server as HttpServer } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler } from "@modelcontextprotocol/server";
import { echoServerOf } from "./echo-tool.ts";

/** The floors of the HTTP transport: `bare` returns JSON without any protocol, `sdk` is an echo tool on the bare SDK. Prints its address. */
const servers: Readonly<Record<string, () => HttpServer>> = {
  bare: () =>
    createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const { id, params } = JSON.parse(Buffer.concat(chunks).toString("utf8")) as { id: number; params: { arguments: unknown } };
        const body = JSON.stringify({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: JSON.stringify(params.arguments) }] } });
        response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
        response.end(body);
      });
    }),
  sdk: () => {
    const handle = toNodeHandler(createMcpHandler(echoServerOf));
    return createServer((request, response) => void handle(request as never, response as never));
  },
};

const server = (servers[process.argv[2] as string] as () => HttpServer)();
// Between two of its turns, it waits for the others' turns.
server.keepAliveTimeout = 120_000;
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`);
});
