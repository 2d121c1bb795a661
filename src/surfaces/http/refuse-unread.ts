import type { ServerResponse } from "node:http";
import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Failure } from "./answer.ts";
import { failureBody, safetyHeaders } from "./answer.ts";
import type { Exchange } from "./exchange.ts";
import { Refusal } from "./refusal.ts";

/** Why Node stopped reading a request. */
export function unreadProblem(code: string | undefined): Refusal {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return new Refusal("limit_exceeded", "The headers are too large.", { status: 431 });
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return new Refusal("limit_exceeded", "The chunk extensions are too large.", { status: 413 });
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new Refusal("invalid_input", "The request did not arrive in time.", { status: 408, reason: "timeout" });
    default:
      return new Refusal("invalid_input", "The request cannot be parsed.");
  }
}

/** Writes directly to the connection: there is no response object. */
export function refuseSocket(socket: Socket, status: number, headers: Readonly<Record<string, string>> = {}): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const lines = Object.entries({ connection: "close", "content-length": "0", ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.join("")}\r\n`);
  socket.destroySoon();
}

/** For how long, and for how many bytes, a client may continue to send: closing at once would make it lose the response. */
const lingerMs = 1_000;
const lingerBytesMax = 1_048_576;

/** Responds to a request whose body is not wanted: data still arriving is discarded for a moment, then the connection is closed. */
export function refuseUnreadBody({ request, response, expectsContinue, isProtocol }: Exchange, failure: Failure): void {
  const body = failureBody(failure, isProtocol);
  response.writeHead(failure.status, {
    ...safetyHeaders,
    "cache-control": "no-store",
    "content-type": "application/json",
    ...failure.headers,
    connection: "close",
    "content-length": String(body.length),
  });
  response.write(body);
  if (expectsContinue) response.end();
  else linger(request.socket, request, response);
}

function linger(socket: Socket, request: Exchange["request"], response: ServerResponse): void {
  let bytes = 0;
  const end = (): void => void response.end();
  const timer = setTimeout(end, lingerMs);
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > lingerBytesMax) end();
  });
  request.once("end", end);
  socket.once("close", () => clearTimeout(timer));
}
