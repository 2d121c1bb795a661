import { isAbsolute, relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { Clock } from "../../kernel/clock.ts";
import { randomHex } from "../../kernel/ids.ts";
import type { Message } from "./json-rpc.ts";
import { isPlainObject } from "./json-rpc.ts";

/** A client that says it has roots should know them; one that does not answer must not hold a call up. */
const answerWithinMs = 500;
const rootsMax = 100;

/**
 * The folders a client of the handshake era has open. Some clients start servers in `/` or the home folder, and this is the only way to
 * know where the user works. Asked for when a tool first wants to know, and again when the client says that they changed.
 */
export class ClientRoots {
  readonly #send: (line: string) => void;
  readonly #clock: Clock;
  #hasRoots = false;
  #question: Question | undefined;
  #folders: readonly string[] = [];
  #waiting = 0;

  constructor(send: (line: string) => void, clock: Clock) {
    this.#send = send;
    this.#clock = clock;
  }

  /** Sees every message from the client; true: it was the answer to our request and needs no further handling. */
  notice(message: Message): boolean {
    if ("method" in message) {
      if (message.method === "initialize") this.#hasRoots = isPlainObject(message.params?.capabilities) && isPlainObject(message.params.capabilities.roots);
      if (message.method === "notifications/roots/list_changed") this.#question = undefined;
      return false;
    }
    if (this.#question === undefined || message.id !== this.#question.id) return false;
    this.#folders = foldersIn(message.result);
    this.#question.settle();
    return true;
  }

  /** Calls that wait for the client's answer. */
  get waiting(): number {
    return this.#waiting;
  }

  /** The client's folder to start from: the server's own where it lies inside one, else the first; undefined when the client has none. */
  async folderFor(own: string): Promise<string | undefined> {
    if (!this.#hasRoots) return undefined;
    this.#question ??= this.#ask();
    this.#waiting += 1;
    await this.#question.ready;
    this.#waiting -= 1;
    return this.#folders.some((folder) => isInside(own, folder)) ? own : this.#folders[0];
  }

  #ask(): Question {
    const id = `holdfast-roots-${randomHex(16)}`;
    // Ends the sleep too: a timer left behind would keep the process alive.
    const answered = new AbortController();
    this.#send(JSON.stringify({ jsonrpc: "2.0", id, method: "roots/list" }));
    return { id, ready: this.#clock.sleep(answerWithinMs, answered.signal), settle: () => answered.abort() };
  }
}

interface Question {
  readonly id: string;
  /** Answered, or no longer waited for. */
  readonly ready: Promise<void>;
  settle(): void;
}

/** Only folders of this machine, and only those that can be read as such. */
function foldersIn(result: unknown): readonly string[] {
  const roots = isPlainObject(result) && Array.isArray(result.roots) ? result.roots.slice(0, rootsMax) : [];
  return roots.flatMap((root: unknown) => {
    try {
      return isPlainObject(root) && typeof root.uri === "string" && root.uri.startsWith("file:") ? [fileURLToPath(root.uri)] : [];
    } catch {
      return [];
    }
  });
}

function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return !way.startsWith("..") && !isAbsolute(way);
}
