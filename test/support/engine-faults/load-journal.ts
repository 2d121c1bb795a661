import type { Json } from "../../../src/kernel/json.ts";
import { canonicalJson } from "../../../src/kernel/json.ts";
import type { Change, Revision } from "../../../src/store/store.ts";
import type { Sighting } from "../../../src/verify/checkers/atomic.ts";
import { CommitJournal } from "../../../src/verify/commit-journal.ts";
import type { WorkerMessage } from "../../../src/verify/worker-process.ts";
import type { Call } from "./recorded-calls.ts";

/** One life of a watcher. `ended`: the code it failed with. */
export interface RecordedLife {
  readonly after: Revision;
  readonly changes: Change[];
  ended?: string;
}

/** One increment under its request key, and every answer about it. */
export interface RecordedRequest {
  readonly client: string;
  readonly by: string;
  readonly key: string;
  readonly count: number;
  /** Its answer was lost at least once. */
  unknown: boolean;
  readonly answers: { readonly ok: boolean; readonly version: number; readonly text: string }[];
}

/** A lease that was granted. Those of one client stand in the order in which it was granted them. */
export interface Grant {
  readonly client: string;
  readonly resource: string;
  readonly token: Revision;
}

/** What the workers said about one namespace: the parent's word against the store's. */
export class LoadJournal {
  readonly commits = new CommitJournal();
  readonly lives = new Map<string, RecordedLife[]>();
  readonly requests = new Map<string, RecordedRequest>();
  readonly grants: Grant[] = [];
  /** Clients that were killed: nobody will hear the end of what they had begun. */
  readonly killed = new Set<string>();
  readonly #calls = new Map<string, { -readonly [K in keyof Call]: Call[K] }>();
  readonly #sightings = new Map<string, Sighting>();

  get calls(): readonly Call[] {
    return [...this.#calls.values()].filter(({ client, ended }) => ended !== undefined || !this.killed.has(client));
  }

  /** How many calls have ended in this way. */
  ended(how: NonNullable<Call["ended"]>): number {
    return this.calls.filter((call) => call.ended === how).length;
  }

  get sightings(): readonly Sighting[] {
    return [...this.#sightings.values()];
  }

  /** The last revision that a client's watcher has seen. */
  watchedBy(client: string): Revision {
    const life = this.lives.get(client)?.at(-1);
    return life?.changes.at(-1)?.revision ?? life?.after ?? 0;
  }

  hear(client: string, message: WorkerMessage): void {
    if (message.sent !== undefined || message.answered !== undefined) this.commits.hear(client, message);
    else if (message.call !== undefined) this.#hearCall(client, message);
    else if (message.change !== undefined) this.#life(client).changes.push(message.change as unknown as Change);
    else if (message.life !== undefined) this.#livesOf(client).push({ after: message.life as Revision, changes: [] });
    else if (message.lifeEnded !== undefined) this.#life(client).ended = message.lifeEnded as string;
    else if (message.request !== undefined) this.#hearRequest(client, message);
    else if (message.token !== undefined) this.grants.push({ client, resource: message.resource as string, token: message.token as Revision });
    else if (message.seen !== undefined) this.#hearSighting(client, message);
    else throw new Error(`${client} said what nobody understands: ${JSON.stringify(message)}`);
  }

  #hearCall(client: string, { call, kind, ended, tookMs, pace, says }: WorkerMessage): void {
    const id = `${client} ${call}`;
    if (kind !== undefined) this.#calls.set(id, { client, kind: kind as Call["kind"] });
    const known = this.#calls.get(id);
    if (known === undefined) throw new Error(`${client} heard the end of a call that it had not made: ${call}.`);
    if (ended === undefined) return;
    known.ended = ended as Call["ended"];
    known.tookMs = tookMs as number;
    known.pace = pace as number;
    known.says = says as string | undefined;
  }

  #hearRequest(client: string, { request, key, count, unknown, answer }: WorkerMessage): void {
    const by = request as string;
    if (key !== undefined) this.requests.set(by, { client, by, key: key as string, count: count as number, unknown: false, answers: [] });
    const known = this.requests.get(by) as RecordedRequest;
    if (unknown === true) known.unknown = true;
    if (answer === undefined) return;
    const { ok, version } = answer as { ok: boolean; version?: number };
    known.answers.push({ ok, version: version ?? 0, text: canonicalJson(answer as Json) });
  }

  /** Most looks see what another has seen already. */
  #hearSighting(client: string, { seen, values }: WorkerMessage): void {
    this.#sightings.set(canonicalJson([seen as Json, values as Json]), { by: client, revision: seen as Revision, values: values as Sighting["values"] });
  }

  #livesOf(client: string): RecordedLife[] {
    const known = this.lives.get(client) ?? [];
    this.lives.set(client, known);
    return known;
  }

  #life(client: string): RecordedLife {
    const life = this.#livesOf(client).at(-1);
    if (life === undefined) throw new Error(`${client} saw a change before it had begun to watch.`);
    return life;
  }
}
