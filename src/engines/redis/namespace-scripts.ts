import type { Clock } from "../../kernel/clock.ts";
import { requireUnsealed } from "../../store/engine-rules.ts";
import { allKeys, metaKey } from "./key-names.ts";
import type { Script } from "./lua-script.ts";
import type { RedisNamespaceFacts } from "./records.ts";
import { toFacts } from "./records.ts";
import { isReply, lostAnswer, notConfirmed, replyCode } from "./redis-errors.ts";
import type { CommandRouter, CommandSequence } from "./redis-router.ts";
import type { RedisSettings } from "./redis-url.ts";
import type { RedisServerFacts } from "./server-facts.ts";
import { isLasting } from "./server-facts.ts";

/** The state of a namespace that this process has seen: neither its time nor its history may go back unnoticed. */
interface Shown {
  revision: number;
  nowMs: number;
}

type Send = Parameters<CommandSequence<unknown>>[0];

/** How much earlier a wait for replicas ends than the call: Redis checks such waits ten times a second, and its reply has to come back. */
const marginMsMax = 250;
const marginShare = 0.4;

/** Runs scripts on namespaces and passes each of them the time and the history that it needs. */
export class ScriptRunner {
  readonly #router: CommandRouter;
  readonly #settings: RedisSettings;
  readonly #timeSource: Clock | undefined;
  readonly #shown = new Map<string, Shown>();

  constructor(router: CommandRouter, settings: RedisSettings, timeSource: Clock | undefined) {
    this.#router = router;
    this.#settings = settings;
    this.#timeSource = timeSource;
  }

  /** For one call: all of its scripts share one deadline. */
  of(namespace: string): NamespaceScripts {
    const untilMs = this.#router.deadline();
    const key = metaKey(this.#settings.prefix, namespace);
    const keys = this.#keys(namespace);
    return {
      read: (script, args, atMs) =>
        this.#router.read(key, (send) => evaluate(send, script, keys, [this.#time(atMs), String(this.#shown.get(namespace)?.nowMs ?? 0)], args), untilMs),
      readPlain: (script, args) => this.#router.read(key, (send) => evaluate(send, script, keys, [], args), untilMs),
      write: (script, args, options = {}) => this.#router.write(key, (send, server) => this.#write(send, server, untilMs, namespace, script, args, options), untilMs),
      learn: (text) => {
        const facts = toFacts(text);
        // A namespace that is being filled has no history yet: it may be cleared and filled again.
        if (facts.seal?.state !== "filling") this.noteShown(namespace, { revision: facts.revision, nowMs: 0 });
        return facts;
      },
      show: (text) => {
        const facts = toFacts(text);
        requireUnsealed(facts.seal, "read");
        this.noteShown(namespace, facts);
        return facts;
      },
    };
  }

  noteShown(namespace: string, { revision, nowMs }: Shown): void {
    const shown = this.#shown.get(namespace);
    if (shown === undefined) this.#shown.set(namespace, { revision, nowMs });
    else {
      shown.revision = Math.max(shown.revision, revision);
      shown.nowMs = Math.max(shown.nowMs, nowMs);
    }
  }

  /** The highest revision that this process has seen. */
  shownRevision(namespace: string): number {
    return this.#shown.get(namespace)?.revision ?? 0;
  }

  forget(namespace: string): void {
    this.#shown.delete(namespace);
  }

  /** The scripts derive the other keys from the first. Naming them all is needed only in a cluster, where they can move. */
  #keys(namespace: string): readonly string[] {
    const { prefix, topology } = this.#settings;
    return topology === "cluster" ? allKeys(prefix, namespace) : [metaKey(prefix, namespace)];
  }

  #time(atMs = this.#timeSource?.nowMs()): string {
    return atMs === undefined ? "" : String(atMs);
  }

  async #write(
    send: Send,
    server: RedisServerFacts,
    untilMs: number,
    namespace: string,
    script: Script,
    args: readonly string[],
    { isMoving }: ScriptWriteOptions,
  ): Promise<unknown> {
    const shown = this.#shown.get(namespace);
    const { waitReplicas, waitAof } = this.#settings;
    const waits = waitReplicas > 0 || waitAof;
    const traits = `${isLasting(server) ? "1" : "0"}${waits ? "w" : "-"}${this.#settings.topology === "cluster" ? "c" : "-"}`;
    const basis = [this.#time(), String(shown?.nowMs ?? 0), isMoving ? "0" : String(shown?.revision ?? 0), traits, server.home];
    const reply = await evaluate(send, script, this.#keys(namespace), basis, args);
    if (!waits) return reply;
    // On the same connection, because it waits for writes made on that connection.
    const leftMs = untilMs - performance.now();
    const waitMs = String(Math.max(1, Math.floor(leftMs - Math.min(marginMsMax, leftMs * marginShare))));
    const waiting = waitAof ? send("waitaof", ["1", String(waitReplicas), waitMs]) : send("wait", [String(waitReplicas), waitMs]);
    const reached = await waiting.catch((error: unknown) => {
      throw isReply(error) ? notConfirmed("Redis would not say how far it got") : lostAnswer(error);
    });
    const [onDisk, replicas] = waitAof ? (reached as [number, number]) : [1, reached as number];
    if (onDisk < 1) throw notConfirmed("was not written to its disk in time");
    if (replicas < waitReplicas) throw notConfirmed(`${replicas} of ${waitReplicas} replicas confirmed it in time`);
    return reply;
  }
}

export interface ScriptWriteOptions {
  /** Records of another store are being loaded: what this process saw before does not apply to them. */
  readonly isMoving?: boolean;
}

/** The scripts of one namespace. */
export interface NamespaceScripts {
  /** `atMs`: reads as of an earlier moment of the same read. */
  read(script: Script<"read">, args: readonly string[], atMs?: number): Promise<unknown>;
  /** For scripts that need neither time nor facts. */
  readPlain(script: Script<"none">, args: readonly string[]): Promise<unknown>;
  write(script: Script<"write">, args: readonly string[], options?: ScriptWriteOptions): Promise<unknown>;
  /** Parses the facts in a reply, and remembers the revision. */
  learn(text: string): RedisNamespaceFacts;
  /** The same for an answer that depends on the time: the namespace's time does not go back behind it afterwards. Throws if the seal forbids the read. */
  show(text: string): RedisNamespaceFacts;
}

/** The arguments come in two parts and are joined only once, because a batch may have thousands. */
async function evaluate(send: Send, script: Script, keys: readonly string[], basis: readonly string[], args: readonly string[]): Promise<unknown> {
  const words = [script.sha, String(keys.length)].concat(keys, basis, args);
  try {
    return await send("evalsha", words);
  } catch (error) {
    // A server that was started or promoted since then has not loaded the text. This reply proves that nothing ran.
    if (replyCode(error) !== "NOSCRIPT") throw error;
    return send("eval", [script.text, ...words.slice(1)]);
  }
}
