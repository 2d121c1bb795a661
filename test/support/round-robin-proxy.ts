import { once } from "node:events";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { Agent, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

/**
 * A balancer before several nodes: every request goes to another one than the request before. A node that takes no connection is passed over;
 * one that is lost in the middle is lost to its caller too, whose connection is cut: whether the request was done, a balancer cannot know.
 */
export class RoundRobinProxy implements AsyncDisposable {
  readonly url: string;
  /** Requests that each node was given, and those that were cut in the middle. */
  readonly figures: { readonly passed: number[]; passedOver: number; cut: number };
  readonly #server: Server;
  readonly #ports: readonly number[];
  readonly #agent = new Agent({ keepAlive: true });
  #turn = 0;

  private constructor(server: Server, ports: readonly number[]) {
    this.#server = server;
    this.#ports = ports;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    this.figures = { passed: ports.map(() => 0), passedOver: 0, cut: 0 };
    server.on("request", (incoming, outgoing) => void this.#take(incoming, outgoing));
  }

  static async open(ports: readonly number[]): Promise<RoundRobinProxy> {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    return new RoundRobinProxy(server, ports);
  }

  async #take(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    this.#turn += 1;
    this.#pass(incoming, Buffer.concat(chunks), outgoing, this.#turn, this.#ports.length);
  }

  #pass(incoming: IncomingMessage, body: Buffer, outgoing: ServerResponse, turn: number, nodesLeft: number): void {
    if (nodesLeft === 0) return void outgoing.writeHead(502).end();
    const node = turn % this.#ports.length;
    let isConnected = false;
    const onward = request({ host: "127.0.0.1", port: this.#ports[node], agent: this.#agent, method: incoming.method, path: incoming.url, headers: incoming.headers });
    onward.once("socket", (socket) => {
      isConnected = !socket.connecting;
      if (socket.connecting)
        socket.once("connect", () => {
          isConnected = true;
        });
    });
    const lose = (): void => {
      this.figures.cut += 1;
      outgoing.destroy();
    };
    onward.once("response", (answer) => {
      this.figures.passed[node] = (this.figures.passed[node] ?? 0) + 1;
      outgoing.writeHead(answer.statusCode as number, answer.headers);
      outgoing.flushHeaders();
      answer.once("error", lose).pipe(outgoing);
    });
    onward.once("error", () => {
      if (outgoing.headersSent || outgoing.destroyed) return;
      if (isConnected) return lose();
      this.figures.passedOver += 1;
      this.#pass(incoming, body, outgoing, turn + 1, nodesLeft - 1);
    });
    // Whoever goes away is not worked for any longer.
    outgoing.once("close", () => void onward.destroy());
    onward.end(body);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    this.#agent.destroy();
  }
}
