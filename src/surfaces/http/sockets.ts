import type { Socket } from "node:net";
import type { Exchange } from "./exchange.ts";
import type { HttpLimits } from "./http-limits.ts";

/** What is known of one connection beside what Node knows. */
interface Connection {
  /** Being answered, in the order they came: a client may send several before it reads. */
  readonly exchanges: Set<Exchange>;
  /** Bytes that the peer had taken when it was last looked at, and when that had changed. */
  takenBytes: number;
  movedAtMs: number;
}

/**
 * Every open connection. Node closes those that are slow to ask; this closes those that are slow to listen, keeps their number bounded,
 * and bounds the unsent data held for them, whichever part of the server wrote it.
 */
export class Sockets {
  readonly #limits: HttpLimits;
  readonly #nowMs: () => number;
  readonly #open = new Map<Socket, Connection>();
  /** Those that nothing is being answered on, the longest idle first. */
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

  /** False: there is no room for this one. */
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

  /** False: too many are in line on this connection already. */
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

  /** What is being received on this connection, or waits to be answered. */
  newestOn(socket: Socket): Exchange | undefined {
    return [...(this.#open.get(socket)?.exchanges ?? [])].at(-1);
  }

  /** What has been written still goes out. */
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
    // Node closes only the response that was being written; those queued behind it would never learn that the client is gone.
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

/** Answers that are made and wait for an earlier one on the same connection: the socket knows nothing of them yet. */
function heldBehind({ exchanges }: Connection): number {
  if (exchanges.size < 2) return 0;
  let bytes = 0;
  for (const { response } of exchanges) if (response.socket === null) bytes += response.writableLength;
  return bytes;
}
