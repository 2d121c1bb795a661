import { join } from "node:path";
import { onTestFinished } from "vitest";
import { stateKeys } from "../../../src/domain/keyspace.ts";
import { openEngine } from "../../../src/engines/open-store.ts";
import { systemClock } from "../../../src/kernel/clock.ts";
import { isHoldfastError } from "../../../src/kernel/errors.ts";
import { openNamespaceStore } from "../../../src/store/namespace-store.ts";
import type { Revision, Store } from "../../../src/store/store.ts";
import type { CampaignResult } from "../../../src/verify/campaign.ts";
import { pause, whileAlive } from "../../../src/verify/campaign.ts";
import type { Violation } from "../../../src/verify/checkers/violation.ts";
import { Violations } from "../../../src/verify/checkers/violation.ts";
import type { Random } from "../../../src/verify/random.ts";
import { between, seededRandom } from "../../../src/verify/random.ts";
import { recordedStore } from "../../../src/verify/recorded-store.ts";
import type { WorkerMessage } from "../../../src/verify/worker-process.ts";
import { startWorkers, WorkerProcess } from "../../../src/verify/worker-process.ts";
import type { Fault } from "../faulty-engine.ts";
import { endWriter } from "../faulty-engine.ts";
import { PaceSampler } from "../pace.ts";
import { workersDir } from "../worker-build.ts";
import type { AuditRules } from "./audit-load.ts";
import { auditLoad } from "./audit-load.ts";
import { LoadJournal } from "./load-journal.ts";

export interface LoadOptions {
  /** The store as the clients reach it, perhaps through something that breaks. */
  readonly url: string;
  /** The store as the auditor reaches it. */
  readonly auditUrl?: string;
  readonly namespaces?: readonly string[];
  readonly processes?: number;
  /** The clients' engine has this fault. */
  readonly fault?: Fault;
  readonly seed?: number;
  /** What the URL says one call may take. */
  readonly deadlineMs: number;
}

const firstServiceMsMax = 10_000;
const slackMs = 1_000;

/** Clients in processes of their own, at work on one engine until they are told to stop, and the journal of what they were told. */
export class EngineLoad {
  readonly random: Random;
  readonly journals: ReadonlyMap<string, LoadJournal>;
  readonly #options: LoadOptions;
  readonly #service = new Violations("G19");
  readonly #sampler = new PaceSampler();
  #clients: readonly WorkerProcess[] = [];
  #started = 0;
  #quiet = 0;
  #longestToServiceMs = 0;
  /** When each client was last told, in each namespace, that a commit had succeeded; and when it last sent one. */
  readonly #served = new Map<string, number>();
  readonly #sent = new Map<string, number>();
  #answered = 0;

  private constructor(options: LoadOptions) {
    this.#options = options;
    this.journals = new Map((options.namespaces ?? ["load"]).map((namespace) => [namespace, new LoadJournal()]));
    this.random = seededRandom(options.seed ?? 20_261_115);
  }

  /** Resolves when every client has had a commit answered in every namespace. */
  static async start(options: LoadOptions): Promise<EngineLoad> {
    const load = new EngineLoad(options);
    onTestFinished(async () => {
      load.#sampler[Symbol.dispose]();
      await load.kill();
    });
    await load.join(options.processes ?? 2);
    return load;
  }

  /** Starts more clients. */
  async join(processes: number): Promise<void> {
    const joined = await startWorkers(processes, () => this.#startClient());
    this.#clients = [...this.#clients, ...joined];
    await this.serviceWithin(firstServiceMsMax);
  }

  /** How many calls have ended in this way so far. */
  ended(how: "unavailable" | "outcome_unknown"): number {
    return [...this.journals.values()].reduce((sum, journal) => sum + journal.ended(how), 0);
  }

  /** How many requests whose answer was lost have been answered since. */
  get resolved(): number {
    return [...this.journals.values()].flatMap(({ requests }) => [...requests.values()]).filter(({ unknown, answers }) => unknown && answers.length > 0).length;
  }

  /** Kills all clients; others may join. */
  async kill(): Promise<void> {
    const left = this.#clients;
    this.#clients = [];
    for (const journal of this.journals.values()) for (const { name } of left) journal.killed.add(name);
    for (const client of left) client.kill();
    await Promise.allSettled(left.map((client) => client.ended));
  }

  /** Lets the clients work. */
  work(ms: number): Promise<void> {
    return whileAlive(this.#clients, pause(ms));
  }

  /** Lets them work for so long, and until they were told of so many commits, however slow the machine is. */
  async workFor(ms: number, commits: number): Promise<void> {
    const enough = this.#answered + commits;
    await this.work(ms);
    await this.until(() => this.#answered >= enough);
  }

  /** Lets them work until in every namespace a commit was acknowledged that the store has not got yet. */
  async workBeyondNow(): Promise<void> {
    await using engine = await openEngine(this.#options.url);
    const now = new Map<string, number>();
    for (const namespace of this.journals.keys()) now.set(namespace, (await engine.dump(namespace, { part: "log", after: Number.MAX_SAFE_INTEGER })).facts.revision);
    const isBeyond = ([namespace, { commits }]: readonly [string, LoadJournal]): boolean => commits.acknowledged.some(({ revision }) => revision > (now.get(namespace) as number));
    await this.until(() => [...this.journals].every(isBeyond), 25);
  }

  /** Waits until every client has sent a commit in every namespace since now, whatever became of it. */
  async sendsInEach(): Promise<void> {
    const fromMs = performance.now();
    await this.until(() => this.#places().every((place) => (this.#sent.get(place) ?? 0) > fromMs));
  }

  /** Waits until every client's watcher has seen, in every namespace, something that was acknowledged after now. */
  async watchersSeeMore(): Promise<void> {
    const newest = ({ commits }: LoadJournal): number => commits.acknowledged.reduce((most, { revision }) => Math.max(most, revision), 0);
    const now = new Map([...this.journals.values()].map((journal) => [journal, newest(journal)]));
    await this.until(() => [...now].every(([journal, revision]) => this.#clients.every(({ name }) => journal.watchedBy(name) > revision)));
  }

  /** Waits until every client has had a commit answered in every namespace since now. More than the limit is held against the engine. */
  async serviceWithin(limitMs: number): Promise<void> {
    const fromMs = performance.now();
    const wanted = this.#places();
    const missing = (): readonly string[] => wanted.filter((place) => (this.#served.get(place) ?? 0) < fromMs);
    let last: readonly string[] = [];
    await this.until(() => {
      const left = missing();
      if (left.length > 0) last = left;
      return left.length === 0;
    }, 2);
    const tookMs = Math.round(performance.now() - fromMs);
    if (tookMs > limitMs * this.#sampler.since(fromMs)) this.#service.add("no_service", `${last.join(", ")}: a commit succeeded after ${tookMs} ms, and not within ${limitMs} ms.`);
    this.#longestToServiceMs = Math.max(this.#longestToServiceMs, tookMs);
  }

  /** Ends the writing, waits for the watchers to see the last of it, and ends the clients. */
  async stop(): Promise<void> {
    const { deadlineMs, auditUrl, url } = this.#options;
    // Every call that is on its way may take its time, and so may asking again what became of it.
    const [askMs, patienceMs] = [4 * deadlineMs, 2 * deadlineMs + slackMs];
    for (const client of this.#clients) client.send({ stop: "writing", askMs, patienceMs });
    await this.until(() => this.#quiet >= this.#clients.length);
    await using auditor = await openEngine(auditUrl ?? url);
    for (const [namespace, journal] of this.journals) {
      const store = recordedStore(openNamespaceStore(auditor, namespace, systemClock), (message) => journal.hear(endWriter, message));
      const last = await markEnd(store);
      await this.until(() => this.#clients.every(({ name }) => journal.watchedBy(name) >= last));
    }
    for (const client of this.#clients) client.send({ stop: "watching" });
    await Promise.all(this.#clients.map((client) => client.finish()));
  }

  /** What the clients were told, against what the store has. Figures of several namespaces are added up, but for the longest of something. */
  async audit({ loss = "forbidden" }: Partial<Pick<AuditRules, "loss">> = {}): Promise<CampaignResult> {
    const { deadlineMs, auditUrl, url } = this.#options;
    await using auditor = await openEngine(auditUrl ?? url);
    const figures: Record<string, number> = {};
    const violations: Violation[] = [];
    for (const [namespace, journal] of this.journals) {
      const result = await auditLoad(auditor, namespace, journal, { loss, calls: { deadlineMs, slackMs } });
      violations.push(...result.violations);
      for (const [name, value] of Object.entries(result.figures)) figures[name] = name.startsWith("longest") ? Math.max(figures[name] ?? 0, value) : (figures[name] ?? 0) + value;
    }
    return { figures: { ...figures, longest_to_service_ms: this.#longestToServiceMs }, violations: [...violations, ...this.#service.list()] };
  }

  #places(): readonly string[] {
    return [...this.journals.keys()].flatMap((namespace) => this.#clients.map(({ name }) => `${name} ${namespace}`));
  }

  #startClient(): WorkerProcess {
    this.#started += 1;
    const { url, fault } = this.#options;
    const command = { file: process.execPath, args: [join(workersDir, "engine-load.mjs"), ...(fault === undefined ? [] : [fault])] };
    const namespaces = [...this.journals.keys()];
    const name = `client-${this.#started}`;
    const job = { job: "load", name, store: url, namespace: namespaces[0] as string, namespaces, seed: between(this.random, 0, 2 ** 32 - 1) };
    return new WorkerProcess(command, job, (message) => this.#hear(name, message));
  }

  #hear(client: string, { namespace, ...message }: WorkerMessage): void {
    if (message.quiet === true) {
      this.#quiet += 1;
      return;
    }
    const journal = this.journals.get(namespace as string);
    if (journal === undefined) throw new Error(`${client} spoke of the namespace ${namespace}, which is not its own.`);
    journal.hear(client, message);
    if (message.sent !== undefined) this.#sent.set(`${client} ${namespace}`, performance.now());
    if (message.answered === undefined || message.revision === undefined) return;
    this.#served.set(`${client} ${namespace}`, performance.now());
    this.#answered += 1;
  }

  /** Lets the clients work until it holds. A client that fails by itself ends the wait, and the campaign, with its own words. */
  async until(holds: () => boolean, everyMs = 5): Promise<void> {
    while (!holds()) await whileAlive(this.#clients, pause(everyMs));
  }
}

/** One more commit, which every watcher must come to see. */
async function markEnd(store: Store): Promise<Revision> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const result = await store.commit({ writes: [{ op: "put", key: stateKeys.key(endWriter), value: attempt }], writer: endWriter });
      if (result.ok) return result.revision;
    } catch (error) {
      // A short deadline may be too short for a connection that has just been opened.
      if (!isHoldfastError(error)) throw error;
      await pause(20);
    }
  }
}
