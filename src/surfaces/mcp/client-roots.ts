import { isAbsolute, relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { Clock } from "../../kernel/clock.ts";
import { randomHex } from "../../kernel/ids.ts";
import type { Message } from "./json-rpc.ts";
import { isPlainObject } from "./json-rpc.ts";

/** A client that declares roots should know them at once; one that does not respond must not delay a call for longer. */
const answerWithinMs = 500;
const rootsMax = 100;

/**
 * The folders that a client of the handshake era has open. Some clients start servers in `/` or the home folder, so this is the only way to
 * learn where the user works. Requested when a tool first needs it, and again after the client reports a change.
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

  /** Receives every message from the client. True: it was the response to our request and needs no further handling. */
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

  /** The number of calls that wait for the client's response. */
  get waiting(): number {
    return this.#waiting;
  }

  /** The folder to start from: the server's own if it is inside one of the client's, otherwise the client's first; undefined if the client has none. */
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
    // Also ends the sleep: a leftover timer would keep the process alive.
    const answered = new AbortController();
    this.#send(JSON.stringify({ jsonrpc: "2.0", id, method: "roots/list" }));
    return { id, ready: this.#clock.sleep(answerWithinMs, answered.signal), settle: () => answered.abort() };
  }
}

interface Question {
  readonly id: string;
  /** Resolves when the response has arrived or the time is up. */
  readonly ready: Promise<void>;
  settle(): void;
}

/** Only `file:` URLs that are valid paths on this machine. */
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
