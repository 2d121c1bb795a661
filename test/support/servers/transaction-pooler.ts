import { once } from "node:events";
import type { Server, Socket } from "node:net";
import { createServer } from "node:net";
import pg from "pg";
import { onFreePort } from "./free-port.ts";

/**
 * A pooler as many stand before a PostgreSQL, in its strictest mode: every transaction of a client may run on another of a few server connections.
 * What a client prepares, sets or listens to does not stay with it. It lets everybody in; the server's own door is passed with the URL's user.
 */
export class TransactionPooler implements AsyncDisposable {
  readonly port: number;
  readonly #clients = new Set<Client>();
  readonly #backends: Backend[];
  readonly #waiting: ((backend: Backend) => void)[] = [];
  #listener: Server | undefined;
  #next = 0;

  private constructor(port: number, backends: Backend[]) {
    this.port = port;
    this.#backends = backends;
  }

  static async open(url: string, connections = 2): Promise<TransactionPooler> {
    const backends = await Promise.all(Array.from({ length: connections }, () => Backend.open(url)));
    return onFreePort(async (port) => {
      const pooler = new TransactionPooler(port, backends);
      const listener = createServer({ noDelay: true }, (socket) => void pooler.#clients.add(new Client(socket, pooler)));
      listener.listen(port, "127.0.0.1");
      await once(listener, "listening");
      pooler.#listener = listener;
      return pooler;
    });
  }

  /** A free connection, another one each time where there is a choice. */
  acquire(then: (backend: Backend) => void): void {
    this.#next += 1;
    const count = this.#backends.length;
    const free = this.#backends.map((_, i) => this.#backends[(this.#next + i) % count] as Backend).find((backend) => backend.client === undefined);
    if (free === undefined) this.#waiting.push(then);
    else then(free);
  }

  release(backend: Backend): void {
    backend.client = undefined;
    this.#waiting.shift()?.(backend);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) client.socket.destroy();
    for (const { socket } of this.#backends) socket.destroy();
    this.#listener?.close();
  }
}

/** Messages of the protocol: a letter, a length that counts itself, the rest. */
function* messages(buffer: Buffer): Generator<Buffer> {
  for (let at = 0; at + 5 <= buffer.length; ) {
    const end = at + 1 + buffer.readUInt32BE(at + 1);
    if (end > buffer.length) return;
    yield buffer.subarray(at, end);
    at = end;
  }
}
const letterOf = (message: Buffer): string => String.fromCharCode(message[0] as number);
const sizeOf = (parts: readonly Buffer[]): number => parts.reduce((sum, part) => sum + part.length, 0);

class Backend {
  readonly socket: Socket;
  client: Client | undefined;
  #rest = Buffer.alloc(0);

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.removeAllListeners("data");
    socket.on("data", (bytes: Buffer) => {
      this.#rest = Buffer.concat([this.#rest, bytes]);
      const whole = [...messages(this.#rest)];
      this.#rest = this.#rest.subarray(sizeOf(whole));
      for (const message of whole) this.client?.answer(message);
    });
  }

  static async open(url: string): Promise<Backend> {
    const client = new pg.Client(url);
    client.on("error", () => undefined);
    await client.connect();
    return new Backend(client.connection.stream as Socket);
  }
}

const message = (letter: string, body: Buffer): Buffer => {
  const head = Buffer.alloc(5);
  head.write(letter);
  head.writeUInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
};
const parameter = (name: string, value: string): Buffer => message("S", Buffer.from(`${name}\0${value}\0`));
/** Let in without a question; a process number that no server gave. */
const welcome = Buffer.concat([
  message("R", Buffer.from([0, 0, 0, 0])),
  parameter("client_encoding", "UTF8"),
  parameter("server_version", "15.0"),
  message("K", Buffer.from([0x7f, 0xff, 0xff, 0x01, 0, 0, 0, 1])),
  message("Z", Buffer.from("I")),
]);

class Client {
  readonly socket: Socket;
  readonly #pooler: TransactionPooler;
  #rest = Buffer.alloc(0);
  #isIn = false;
  #backend: Backend | undefined;
  #isWaiting = false;
  #held: Buffer[] = [];
  /** Questions that end with "ready" and have not been answered yet. */
  #open = 0;

  constructor(socket: Socket, pooler: TransactionPooler) {
    this.socket = socket;
    this.#pooler = pooler;
    socket.on("error", () => undefined);
    socket.on("data", (bytes: Buffer) => this.#read(bytes));
  }

  #read(bytes: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    if (!this.#isIn) {
      if (this.#rest.length < 4 || this.#rest.length < this.#rest.readUInt32BE(0)) return;
      this.#rest = this.#rest.subarray(this.#rest.readUInt32BE(0));
      this.#isIn = true;
      this.socket.write(welcome);
    }
    const whole = [...messages(this.#rest)];
    this.#rest = this.#rest.subarray(sizeOf(whole));
    for (const one of whole) this.#ask(one);
  }

  #ask(one: Buffer): void {
    if (letterOf(one) === "X") return void this.socket.end();
    if (letterOf(one) === "S" || letterOf(one) === "Q") this.#open += 1;
    if (this.#backend !== undefined) return void this.#backend.socket.write(one);
    this.#held.push(one);
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    this.#pooler.acquire((backend) => {
      this.#isWaiting = false;
      this.#backend = backend;
      backend.client = this;
      backend.socket.write(Buffer.concat(this.#held));
      this.#held = [];
    });
  }

  answer(one: Buffer): void {
    this.socket.write(one);
    if (letterOf(one) !== "Z") return;
    this.#open -= 1;
    const backend = this.#backend;
    if (backend === undefined || this.#open > 0 || one[5] !== "I".charCodeAt(0)) return;
    this.#backend = undefined;
    this.#pooler.release(backend);
  }
}
