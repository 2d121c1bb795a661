import { connect } from "node:net";
import type { Duplex } from "node:stream";
import type { Redis } from "ioredis";
import type { Log } from "../../kernel/log.ts";
import { closedError, connectError, isFinal, isRefusal, isReply, noTlsError, unansweredError, withoutCommand } from "./redis-errors.ts";
import type { Address, RedisSettings } from "./redis-url.ts";
import { requireRights } from "./rights.ts";
import type { RedisServerFacts, Send } from "./server-facts.ts";
import { readServerFacts, requireUsable } from "./server-facts.ts";

/** The part of the driver that is used; the driver is loaded only when needed. */
export type Driver = Pick<typeof import("ioredis"), "Redis" | "Command">;

export interface Connected {
  readonly facts: RedisServerFacts;
  /** Sends one command. Rejects with an error reply from Redis, or with `Lost` if no reply came or can come. */
  send(name: string, args: readonly string[], untilMs: number): Promise<unknown>;
}

/** A command without a reply. `sent`: it may have been executed. */
export class Lost extends Error {
  readonly sent: boolean;
  constructor(sent: boolean, cause?: unknown) {
    super("No answer came.", { cause });
    this.sent = sent;
  }
}

export interface ConnectionUse {
  /** Called for every new connection. */
  readonly onReady?: (facts: RedisServerFacts) => void;
  /** The address of the socket: tried without TLS if it does not answer with TLS. */
  readonly address?: Address;
  /** Used only to ask about other servers, so it may be a replica. */
  readonly isScout?: boolean;
}

/**
 * How long connections may be refused before calls are rejected too. A server that restarts is back by then; one that is gone must not use up every
 * call's deadline. Applies only if there is a single address: sentinels and clusters name another server, and that takes longer.
 */
const refusedMsMax = 1_500;
const retryMsMin = 30;
const retryMsMax = 1_000;
/** The limit for one attempt to connect; a call's own deadline may end sooner. */
const connectMsMax = 5_000;
/** How long to wait for a TLS answer before trying without: a plain Redis takes the TLS greeting for the start of a line and waits for the rest. */
const plainQuestionMs = 250;

/**
 * One connection to one address, reconnected whenever it is lost. The driver's instance lives only as long as its socket: a new connection is a new instance,
 * so there is no queue from which the driver could send anything twice.
 */
export class RedisConnection {
  readonly #open: () => Redis;
  readonly #driver: Driver;
  readonly #settings: RedisSettings;
  readonly #log: Log;
  readonly #onReady: (facts: RedisServerFacts) => void;
  readonly #address: Address | undefined;
  readonly #isScout: boolean;
  #redis: Redis | undefined;
  #attempting: Redis | undefined;
  #connected: Connected | undefined;
  #connecting: Promise<void> | undefined;
  #downSinceMs = performance.now();
  #failure: unknown;
  #wake: (() => void) | undefined;
  #closed = false;

  constructor(driver: Driver, open: () => Redis, settings: RedisSettings, log: Log, { onReady = () => {}, address, isScout = false }: ConnectionUse = {}) {
    this.#driver = driver;
    this.#open = open;
    this.#settings = settings;
    this.#log = log;
    this.#onReady = onReady;
    this.#address = address;
    this.#isScout = isScout;
  }

  /**
   * Waits for the connection until the deadline. If it has been down for longer than a call may last, throws at once: no caller should wait for a server that is
   * long gone.
   */
  async ready(untilMs: number): Promise<Connected> {
    const soonestMs = performance.now() + retryMsMin;
    for (;;) {
      if (this.#closed) throw closedError();
      if (this.#connected !== undefined) return this.#connected;
      this.#connecting ??= this.#connect();
      const waitMs = this.#settings.topology === "single" && isRefusal(this.#failure) ? refusedMsMax : this.#settings.deadlineMs;
      const endMs = Math.min(untilMs, Math.max(this.#downSinceMs + waitMs, soonestMs));
      if (isFinal(this.#failure) || performance.now() >= endMs) throw connectError(this.#failure, this.#settings.prefix);
      await this.#change(endMs);
    }
  }

  /** The current facts, without waiting; undefined while disconnected. */
  get facts(): RedisServerFacts | undefined {
    return this.#connected?.facts;
  }

  /** Closes the connection; commands in flight on it fail, and a new one is opened. */
  drop(connected?: Connected): void {
    if (connected !== undefined && connected !== this.#connected) return;
    hangUp(this.#redis);
    this.#lose();
  }

  close(): void {
    this.#closed = true;
    hangUp(this.#attempting);
    hangUp(this.#redis);
    this.#connected = undefined;
    this.#wake?.();
  }

  #lose(): void {
    if (this.#connected === undefined) return;
    this.#connected = undefined;
    this.#redis = undefined;
    this.#failure = undefined;
    this.#downSinceMs = performance.now();
    if (!this.#closed) this.#connecting ??= this.#connect();
  }

  /** Resolves when an attempt has ended, or when the time is up. */
  #change(untilMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, Math.max(0, untilMs - performance.now()));
      const before = this.#wake;
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
        before?.();
      };
    });
  }

  /** Tries until it succeeds or the connection is closed, with growing pauses. */
  async #connect(): Promise<void> {
    for (let attempt = 0; !this.#closed; attempt += 1) {
      try {
        await this.#attempt();
        break;
      } catch (error) {
        const failure = connectError(error, this.#settings.prefix);
        // Callers get the error anyway; the log is for someone who looks later.
        if (attempt === 0) this.#log("info", "redis_not_connected", { reason: failure.message });
        this.#failure = failure;
      }
      this.#rouse();
      await new Promise<void>((resolve) => setTimeout(resolve, Math.min(retryMsMax, retryMsMin * 2 ** Math.min(attempt, 10)) * (0.75 + Math.random() / 2)).unref());
    }
    this.#connecting = undefined;
    this.#rouse();
  }

  #rouse(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }

  async #attempt(): Promise<void> {
    const redis = this.#open();
    let reason: unknown;
    let hasMet = false;
    redis.on("error", (error: unknown) => {
      reason = withoutCommand(error);
      // Stop talking to whatever answered there: by itself, the driver waits until the other end closes.
      if (hasMet) (redis.stream as Duplex).destroy();
    });
    redis.once("connect", () => {
      hasMet = true;
    });
    this.#attempting = redis;
    const untilMs = performance.now() + Math.min(connectMsMax, this.#settings.deadlineMs);
    try {
      await within(this.#greet(redis), untilMs);
      // The socket does not keep the process alive. A caller that waits for a reply does, with the timer of its deadline.
      (redis.stream as Duplex & { unref(): void }).unref();
      const send = this.#sendUntil(redis, untilMs);
      // Not left to the driver, which would continue in another database if this one does not exist.
      if (this.#settings.database > 0) await send("select", [String(this.#settings.database)]);
      const { remoteAddress = "", remotePort = 0 } = redis.stream as { readonly remoteAddress?: string; readonly remotePort?: number };
      const connected: Connected = { send: this.#sender(redis), facts: await readServerFacts(send, `${remoteAddress}:${remotePort}`) };
      if (!this.#isScout) {
        requireUsable(connected.facts, this.#settings);
        await requireRights(send, this.#settings.prefix);
      }
      if (redis.status !== "ready" || this.#closed) throw new Lost(false);
      redis.once("end", () => {
        if (this.#redis === redis) this.#lose();
      });
      this.#redis = redis;
      this.#failure = undefined;
      this.#connected = connected;
      this.#onReady(connected.facts);
    } catch (error) {
      hangUp(redis);
      const isVague = error instanceof Lost || !(error instanceof Error) || error.message === "Connection is closed.";
      if (isVague && hasMet && reason === undefined && !this.#closed) throw unansweredError(error instanceof Lost && error.cause === undefined && error.sent);
      throw isVague ? (reason ?? withoutCommand(error)) : withoutCommand(error);
    } finally {
      this.#attempting = undefined;
    }
  }

  async #greet(redis: Redis): Promise<void> {
    const address = this.#address;
    if (this.#settings.tls === undefined || address === undefined) return redis.connect();
    let timer: NodeJS.Timeout | undefined;
    const plain = new Promise<never>((_, reject) => {
      timer = setTimeout(async () => {
        if (await answersWithoutTls(address)) reject(noTlsError());
      }, plainQuestionMs);
    });
    try {
      await Promise.race([redis.connect(), plain]);
    } finally {
      clearTimeout(timer);
    }
  }

  #sendUntil(redis: Redis, untilMs: number): Send {
    const send = this.#sender(redis);
    return (name, args) => send(name, args, untilMs);
  }

  #sender(redis: Redis): Connected["send"] {
    const { Command } = this.#driver;
    return async (name, args, untilMs) => {
      if (redis.status !== "ready" || !(redis.stream as Duplex).writable || performance.now() >= untilMs) throw new Lost(false);
      const command = new Command(name, args as string[], { replyEncoding: "utf8" });
      try {
        return await within(redis.sendCommand(command) as Promise<unknown>, untilMs);
      } catch (error) {
        if (isReply(error)) throw withoutCommand(error);
        // The connection is unusable from here on: all later replies would wait behind the missing one.
        hangUp(redis);
        throw error instanceof Lost ? error : new Lost(true, error);
      }
    };
  }
}

/** Only if it is still open: for a closed socket, the driver would wait two seconds for the close and keep the process alive meanwhile. */
function hangUp(redis: Redis | undefined): void {
  if (redis !== undefined && redis.status !== "end" && redis.status !== "close") redis.disconnect();
}

/** The result of the promise, or `Lost` if the time is up first. */
function within<T>(promise: Promise<T>, untilMs: number): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Lost(true)), Math.max(0, untilMs - performance.now()));
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

const answerMsMax = 1_000;

/** Whether a Redis answers there without TLS. Sends a command without secrets; any reply (PONG, a missing password, loading) begins with a plus or a minus. */
function answersWithoutTls({ host, port }: Address): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port }, () => socket.write("PING\r\n"));
    const finish = (answers: boolean): void => {
      socket.destroy();
      resolve(answers);
    };
    socket.unref();
    socket.setTimeout(answerMsMax, () => finish(false));
    socket.once("data", (bytes) => finish(/^[+-][A-Z]/.test(bytes.toString("latin1"))));
    socket.once("error", () => finish(false));
    socket.once("close", () => finish(false));
  });
}
