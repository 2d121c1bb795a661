import { once } from "node:events";
import type { Socket } from "node:net";
import { connect } from "node:net";

/** A connection that says exactly what it is told: for what no well-behaved client would send. */
export interface RawConnection extends Disposable {
  readonly socket: Socket;
  /** Everything received so far. */
  readonly text: string;
  write(text: string | Buffer): void;
  /** Resolves when what was received matches. Rejects when the connection ends before that. */
  saw(pattern: RegExp): Promise<string>;
  /** Resolves with everything received, when the other side has closed. */
  readonly closed: Promise<string>;
}

export async function connectRaw(port: number, host = "127.0.0.1"): Promise<RawConnection> {
  const socket = connect({ port, host });
  let text = "";
  socket.setEncoding("latin1").on("data", (chunk: string) => {
    text += chunk;
  });
  // Being cut off is what some tests are about.
  socket.on("error", () => {});
  const closed = new Promise<string>((resolve) => socket.once("close", () => resolve(text)));
  await once(socket, "connect");
  return {
    socket,
    closed,
    get text() {
      return text;
    },
    write: (data) => void socket.write(data),
    async saw(pattern) {
      while (!pattern.test(text)) {
        if (socket.destroyed) throw new Error(`The connection ended before ${pattern} was seen: ${JSON.stringify(text)}`);
        await Promise.race([once(socket, "data"), closed]);
      }
      return text;
    },
    [Symbol.dispose]: () => void socket.destroy(),
  };
}

/** One request on a connection of its own, up to the end of the answer: the server is asked to close it. */
export async function askRaw(port: number, request: string): Promise<{ readonly status: number; readonly head: string; readonly body: string }> {
  using connection = await connectRaw(port);
  connection.write(request);
  const text = await connection.closed;
  const end = text.indexOf("\r\n\r\n");
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]), head: text.slice(0, end).toLowerCase(), body: text.slice(end + 4) };
}

/** A request's head with the headers every request has; further ones override them. Undefined leaves one out. */
export function head(method: string, path: string, port: number, headers: Readonly<Record<string, string | undefined>> = {}): string {
  const all = { host: `127.0.0.1:${port}`, connection: "close", ...headers };
  const lines = Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}\r\n`]));
  return `${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n`;
}
