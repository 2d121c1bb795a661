import type { Socket } from "node:net";
import type { Exchange } from "./exchange.ts";
import type { HttpLimits } from "./http-limits.ts";

/** Our own data about one connection, in addition to Node's. */
interface Connection {
  /** Exchanges in progress, in order of arrival: a client may send several before it reads. */
  readonly exchanges: Set<Exchange>;
  /** The bytes that the peer had received at the last check, and when that number last changed. */
  takenBytes: number;
  movedAtMs: number;
}

/**
 * Every open connection. Node closes connections that send too slowly. This class closes those that read too slowly, bounds their number,
 * and bounds the unsent data held for them, whichever part of the server wrote it.
 */
export class Sockets {
  readonly #limits: HttpLimits;
  readonly #nowMs: () => number;
  readonly #open = new Map<Socket, Connection>();
  /** Connections without an exchange in progress, idle for longest first. */
  readonly #idle = new Set<Socket>();
  readonly #sweeper: NodeJS.Timeout;

  constructor(limits: HttpLimits, nowMs: () => number) {
    this.#limits = limits;
    this.#nowMs = nowMs;
    this.#sweeper = setInterval(() => this.#sweep(), Math.min(1_000, Math.max(20, limits.unreadMsMax / 4)));
    this.#sweeper.unref();
  }

  get size(): number {
    return this.#open.size;
  }

  /** False: there is no room for another connection. */
  add(socket: Socket): boolean {
    if (this.#open.size >= this.#limits.socketsMax) {
      const [longestIdle] = this.#idle;
      if (longestIdle === undefined) return false;
      this.#forget(longestIdle);
      longestIdle.destroy();
    }
    this.#open.set(socket, { exchanges: new Set(), takenBytes: 0, movedAtMs: this.#nowMs() });
    this.#idle.add(socket);
    socket.once("close", () => this.#closed(socket));
    return true;
  }

  /** False: too many requests are already queued on this connection. */
  begin(exchange: Exchange): boolean {
    const { socket } = exchange.request;
    const exchanges = this.#open.get(socket)?.exchanges;
    exchanges?.add(exchange);
    this.#idle.delete(socket);
    return exchanges === undefined || exchanges.size <= this.#limits.pipelinedMax;
  }

  end(exchange: Exchange): void {
    const { socket } = exchange.request;
    const connection = this.#open.get(socket);
    if (connection === undefined) return;
    connection.exchanges.delete(exchange);
    if (connection.exchanges.size === 0) this.#idle.add(socket);
  }

  /** The newest exchange on this connection, which is being received or waits for its response. */
  newestOn(socket: Socket): Exchange | undefined {
    return [...(this.#open.get(socket)?.exchanges ?? [])].at(-1);
  }

  /** Data that was already written is still sent. */
  close(): void {
    clearInterval(this.#sweeper);
    for (const socket of this.#open.keys()) socket.destroySoon();
  }

  destroyAll(): void {
    for (const socket of this.#open.keys()) socket.destroy();
  }

  #closed(socket: Socket): void {
    const exchanges = this.#open.get(socket)?.exchanges ?? [];
    this.#forget(socket);
    // Node closes only the response being written; those queued behind it would never learn that the client has disconnected.
    setImmediate(() => {
      for (const { response } of exchanges) if (!response.closed) response.emit("close");
    });
  }

  #forget(socket: Socket): void {
    this.#open.delete(socket);
    this.#idle.delete(socket);
  }

  #sweep(): void {
    const nowMs = this.#nowMs();
    const { unreadMsMax, unsentBytesMax, unsentTotalBytesMax } = this.#limits;
    const behind: { readonly socket: Socket; readonly held: number }[] = [];
    let unsentBytes = 0;
    for (const [socket, connection] of this.#open) {
      const unsent = socket.writableLength;
      const takenBytes = socket.bytesWritten - unsent;
      if (unsent === 0 || takenBytes !== connection.takenBytes) {
        connection.takenBytes = takenBytes;
        connection.movedAtMs = nowMs;
      }
      const held = unsent + heldBehind(connection);
      if (held === 0) continue;
      if (nowMs - connection.movedAtMs >= unreadMsMax || held > unsentBytesMax) {
        socket.destroy();
        continue;
      }
      behind.push({ socket, held });
      unsentBytes += held;
    }
    if (unsentBytes <= unsentTotalBytesMax) return;
    behind.sort((a, b) => b.held - a.held);
    for (const { socket, held } of behind) {
      if (unsentBytes <= unsentTotalBytesMax) return;
      unsentBytes -= held;
      socket.destroy();
    }
  }
}

/** The size of finished responses that wait for an earlier one on the same connection: the socket does not count them yet. */
function heldBehind({ exchanges }: Connection): number {
  if (exchanges.size < 2) return 0;
  let bytes = 0;
  for (const { response } of exchanges) if (response.socket === null) bytes += response.writableLength;
  return bytes;
}
