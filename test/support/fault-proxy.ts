import { once } from "node:events";
import type { Server, Socket } from "node:net";
import { connect, createServer } from "node:net";
import { onFreePort } from "./servers/free-port.ts";

/** What the network between a client and a server does. `times`: after so many connections met it, everything passes again. */
export type NetworkFault =
  | { readonly kind: "pass" }
  /** Connections open, and what is sent is lost: in both directions, or only the server's answers. Neither side learns that the other hung up. */
  | { readonly kind: "black-hole"; readonly only?: "answers" }
  /** RST instead of an answer: at once for connections that are open, on arrival for new ones. */
  | { readonly kind: "reset" }
  /** The request arrives; of the answers only so many bytes come back, then RST. Counted for each connection from now on, or from the first request that contains `since`. */
  | { readonly kind: "cut-answers"; readonly afterBytes: number; readonly times?: number; readonly since?: string }
  /** Every piece arrives late, in order, in both directions. */
  | { readonly kind: "delay"; readonly ms: number }
  /** Nobody listens: open connections are reset, new ones refused. */
  | { readonly kind: "refuse" };

export interface ProxyCounters {
  connections: number;
  requestBytes: number;
  answerBytes: number;
  lostBytes: number;
  resets: number;
  cuts: number;
}

/** A TCP proxy on loopback whose behaviour can be changed while connections are open. */
export class FaultProxy implements AsyncDisposable {
  readonly port: number;
  readonly counters: ProxyCounters = { connections: 0, requestBytes: 0, answerBytes: 0, lostBytes: 0, resets: 0, cuts: 0 };
  #targetPort: number;
  readonly #links = new Set<Link>();
  #listener: Server | undefined;
  #fault: NetworkFault = { kind: "pass" };
  #cutsLeft = 0;

  private constructor(port: number, targetPort: number) {
    this.port = port;
    this.#targetPort = targetPort;
  }

  /** Stands before a server on loopback, whether or not it is running yet. */
  static open(targetPort: number): Promise<FaultProxy> {
    return onFreePort(async (port) => {
      const proxy = new FaultProxy(port, targetPort);
      await proxy.#listen();
      return proxy;
    });
  }

  get fault(): NetworkFault {
    return this.#fault;
  }

  get openConnections(): number {
    return this.#links.size;
  }

  /** The same URL with this proxy in the place of the server. */
  urlFor(url: string): string {
    return url.replace(new RegExp(`:${this.#targetPort}(?=[/?,]|$)`), `:${this.port}`);
  }

  /** From now on, also for the connections that are open. */
  async set(fault: NetworkFault): Promise<void> {
    this.#fault = fault;
    this.#cutsLeft = fault.kind === "cut-answers" ? (fault.times ?? Number.POSITIVE_INFINITY) : 0;
    for (const link of this.#links) link.meet(fault);
    if (fault.kind === "refuse") await this.#stopListening();
    else if (this.#listener === undefined) await this.#listen();
  }

  /** Lets everything pass again. A connection of which bytes were lost cannot go on: it is reset, as by a firewall that has forgotten it. */
  heal(): Promise<void> {
    return this.set({ kind: "pass" });
  }

  /** From now on another server stands behind it, as behind an address that moves in a failover; what was open to the one before is reset. */
  retarget(port: number): void {
    this.#targetPort = port;
    this.resetAll();
  }

  /** RST on every open connection, once; the fault stays what it is. */
  resetAll(): void {
    for (const link of this.#links) link.reset();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.resetAll();
    await this.#stopListening();
  }

  async #listen(): Promise<void> {
    const listener = createServer({ allowHalfOpen: true, noDelay: true }, (client) => this.#accept(client));
    listener.listen(this.port, "127.0.0.1");
    await once(listener, "listening");
    this.#listener = listener;
  }

  async #stopListening(): Promise<void> {
    const listener = this.#listener;
    this.#listener = undefined;
    if (listener === undefined) return;
    listener.close();
    await once(listener, "close");
  }

  #accept(client: Socket): void {
    this.counters.connections += 1;
    const link = new Link(client, this.#targetPort, this.counters, {
      ended: () => this.#links.delete(link),
      wasCut: () => {
        this.#cutsLeft -= 1;
        if (this.#cutsLeft === 0 && this.#fault.kind === "cut-answers") void this.heal();
      },
    });
    this.#links.add(link);
    link.meet(this.#fault);
  }
}

interface LinkEvents {
  ended(): void;
  wasCut(): void;
}

/** One client's connection and the one to the server on its behalf. */
class Link {
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #counters: ProxyCounters;
  readonly #events: LinkEvents;
  #fault: NetworkFault = { kind: "pass" };
  #answersPassed = 0;
  /** The request that the fault waits for has not come yet. */
  #isWaiting = false;
  #hasLost = false;
  #isCut = false;
  #isOver = false;

  constructor(client: Socket, targetPort: number, counters: ProxyCounters, events: LinkEvents) {
    this.#client = client;
    this.#server = connect({ port: targetPort, host: "127.0.0.1", allowHalfOpen: true, noDelay: true });
    this.#counters = counters;
    this.#events = events;
    this.#carry(client, this.#server, "request");
    this.#carry(this.#server, client, "answer");
  }

  meet(fault: NetworkFault): void {
    this.#fault = fault;
    this.#answersPassed = 0;
    this.#isWaiting = fault.kind === "cut-answers" && fault.since !== undefined;
    if (fault.kind === "reset" || fault.kind === "refuse" || (this.#hasLost && fault.kind !== "black-hole")) this.reset();
  }

  reset(): void {
    if (this.#isOver) return;
    this.#counters.resets += 1;
    this.#end();
  }

  #end(): void {
    this.#isOver = true;
    for (const socket of [this.#client, this.#server]) {
      // Before it is connected there is nothing to reset, and Node would wait for it.
      if (socket.connecting) socket.destroy();
      else if (!socket.destroyed) socket.resetAndDestroy();
    }
    this.#events.ended();
  }

  #carry(from: Socket, to: Socket, direction: "request" | "answer"): void {
    let queue: Promise<void> = Promise.resolve();
    const inOrder = (step: () => void): void => {
      const waitMs = this.#fault.kind === "delay" ? this.#fault.ms : 0;
      const late = waitMs === 0 ? Promise.resolve() : new Promise<void>((done) => setTimeout(done, waitMs));
      queue = Promise.all([queue, late]).then(() => {
        if (!this.#isOver) step();
      });
    };
    from.on("data", (bytes: Buffer) => inOrder(() => this.#pass(bytes, from, to, direction)));
    from.on("end", () => inOrder(() => (this.#isLosing(direction) ? this.#lose(0) : to.end())));
    from.on("error", () => inOrder(() => this.#broken(direction)));
    from.on("close", () => inOrder(() => this.#closed(direction)));
  }

  #pass(bytes: Buffer, from: Socket, to: Socket, direction: "request" | "answer"): void {
    if (this.#isLosing(direction)) return this.#lose(bytes.length);
    const fault = this.#fault;
    if (direction === "request" && fault.kind === "cut-answers" && fault.since !== undefined && bytes.includes(fault.since)) this.#isWaiting = false;
    if (direction === "answer" && fault.kind === "cut-answers" && !this.#isWaiting && this.#answersPassed + bytes.length > fault.afterBytes)
      return this.#cut(bytes.subarray(0, fault.afterBytes - this.#answersPassed));
    if (direction === "answer" && !this.#isWaiting) this.#answersPassed += bytes.length;
    this.#counters[direction === "answer" ? "answerBytes" : "requestBytes"] += bytes.length;
    if (to.write(bytes)) return;
    from.pause();
    to.once("drain", () => from.resume());
  }

  #cut(beginning: Buffer): void {
    this.#counters.cuts += 1;
    this.#counters.answerBytes += beginning.length;
    this.#isCut = true;
    this.#events.wasCut();
    // Reset only after the beginning has left: a reset throws away what still waits to be sent.
    this.#client.write(beginning, () => {
      if (!this.#isOver) this.#end();
    });
  }

  #isLosing(direction: "request" | "answer"): boolean {
    return this.#isCut || (this.#fault.kind === "black-hole" && (direction === "answer" || this.#fault.only === undefined));
  }

  #lose(count: number): void {
    this.#hasLost = true;
    this.#counters.lostBytes += count;
  }

  #broken(direction: "request" | "answer"): void {
    if (this.#isLosing(direction)) this.#lose(0);
    else this.#end();
  }

  #closed(direction: "request" | "answer"): void {
    if (this.#isLosing(direction)) this.#lose(0);
    else if (this.#client.destroyed && this.#server.destroyed) this.#end();
  }
}
