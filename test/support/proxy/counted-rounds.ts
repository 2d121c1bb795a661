import { setTimeout as delay, setImmediate as turn } from "node:timers/promises";
import { listEffects, readEffect } from "../../../src/domain/effects/find-effects.ts";
import { effectId } from "../../../src/domain/effects/identity.ts";
import { silentLog } from "../../../src/kernel/log.ts";
import { openNamespaceStore } from "../../../src/store/namespace-store.ts";
import type { Engine } from "../../../src/store/store.ts";
import type { CallRecordsOptions } from "../../../src/surfaces/proxy/call-records.ts";
import { CallRecords } from "../../../src/surfaces/proxy/call-records.ts";
import { serveProxy } from "../../../src/surfaces/proxy/proxy-session.ts";
import { readToolRules } from "../../../src/surfaces/proxy/tool-rules.ts";
import type { CampaignResult } from "../../../src/verify/campaign.ts";
import type { Violation } from "../../../src/verify/checkers/violation.ts";
import type { ManualClock } from "../manual-clock.ts";
import { seededRandom } from "../seeded-random.ts";
import { CutPipe } from "./cut-pipe.ts";
import { faultyStore } from "./faulty-store.ts";
import type { RoundFault } from "./round-fault.ts";
import { pickFault } from "./round-fault.ts";

/** A proxy with parts that a planted fault may replace. */
export interface ProxyParts {
  readonly records?: new (options: CallRecordsOptions) => CallRecords;
  readonly rule?: string;
  /** How often each line reaches the upstream. */
  readonly deliveries?: number;
}

export interface RoundsOptions extends ProxyParts {
  readonly engine: Engine;
  readonly clock: ManualClock;
  readonly rounds: number;
  readonly seed: number;
  /** False: clients speak to the upstream directly. */
  readonly isProxied?: boolean;
}

const upstreamName = "counting";
const liveMs = 5_000;
const attemptsMax = 80;
/** Tries that may meet a fault. Later ones meet only the time that others skip: a call that is not confirmed in time is refused, and tried again. */
const faultyTries = 4;
const lanes = 24;

type Heard = { readonly kind: "answered" | "unknown" | "refused"; readonly text: string } | { readonly kind: "cut" };

/**
 * Clients that make each call until they have an answer, as agents do, while client, proxy, upstream and store are killed or fail at every boundary and in the
 * middle of messages. Counts how often each call took effect.
 */
export async function countRounds(options: RoundsOptions): Promise<CampaignResult> {
  const { engine, clock, rounds, seed, isProxied = true } = options;
  const random = seededRandom(seed);
  const executed = new Map<number, number>();
  const violations: Violation[] = [];
  const unknown = new Set<number>();
  const figures = {
    rounds,
    faults: 0,
    proxies_killed: 0,
    upstreams_killed: 0,
    clients_killed: 0,
    store_failures: 0,
    attempts: 0,
    acknowledged: 0,
    unknown: 0,
    unknown_and_then_reported: 0,
    took_effect: 0,
    doubled: 0,
  };
  const report = (fault: string, n: number, details: Readonly<Record<string, unknown>> = {}): void =>
    void violations.push({ guarantee: "G20", fault, detail: `call ${n} ${JSON.stringify(details)}` });
  const store = openNamespaceStore(engine, "rounds", clock);

  /** One try of one client. */
  async function attempt(n: number, fault: RoundFault | undefined): Promise<Heard> {
    figures.attempts += 1;
    const world = new RoundWorld(fault, clock, engine, executed, options);
    const heard = await world.run(n, isProxied);
    if (fault !== undefined && world.hasHappened) {
      figures.faults += 1;
      figures[fault.victim === "proxy" ? "proxies_killed" : fault.victim === "upstream" ? "upstreams_killed" : fault.victim === "client" ? "clients_killed" : "store_failures"] +=
        1;
      // What a killed proxy left in flight is unknown when its time is over.
      if (fault.victim === "proxy") clock.advance(liveMs + 1);
    }
    return heard;
  }

  async function play(n: number): Promise<void> {
    for (let tries = 0; tries < attemptsMax; tries += 1) {
      const heard = await attempt(n, tries < faultyTries && random(3) > 0 ? pickFault(random) : undefined);
      if (heard.kind === "unknown") {
        unknown.add(n);
        return;
      }
      if (heard.kind !== "answered") continue;
      figures.acknowledged += 1;
      if (!heard.text.startsWith(`did ${n} `)) report("answer_of_another_call", n, { text: heard.text });
      if ((executed.get(n) ?? 0) === 0) report("acknowledged_without_effect", n);
      if (!isProxied) return;
      const again = await attempt(n, undefined);
      if (again.kind !== "answered" || !again.text.startsWith(heard.text.split("\n", 1)[0] as string)) report("acknowledgement_lost", n, { again });
      return;
    }
    report("never_answered", n);
  }

  const queue = Array.from({ length: rounds }, (_, n) => n + 1).values();
  let isOver = false;
  const pump = (async () => {
    // Time passes for whoever waits, faster than on any clock.
    while (!isOver) {
      await delay(2);
      clock.advance(20);
    }
  })();
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      for (const n of queue) await play(n);
    }),
  );
  isOver = true;
  await pump;
  clock.advance(liveMs + 1);
  for (const [n, count] of executed) {
    figures.took_effect += 1;
    if (count === 1) continue;
    figures.doubled += 1;
    report("doubled", n, { count });
  }
  figures.unknown = unknown.size;
  if (isProxied && options.rule === undefined) {
    const listed = await listedUnknown();
    for (const n of unknown) {
      if (listed.has(n)) continue;
      // Its owner counted as lost, and reported after all: that it was done, and whoever asks again gets the answer, or that it never left.
      const { state, resolved } = (await readEffect({ store }, effectId({ scope: upstreamName, tool: "send", args: { n } }))) ?? {};
      const isTrue = state === "done" ? executed.get(n) === 1 : state === "failed" && !executed.has(n);
      if (isTrue && resolved === undefined) figures.unknown_and_then_reported += 1;
      else report("unknown_not_listed", n, { state });
    }
    for (const n of listed) if (!unknown.has(n)) report("listed_but_not_reported", n);
  }
  return { figures, violations };

  async function listedUnknown(): Promise<Set<number>> {
    const found = new Set<number>();
    let after: string | undefined;
    do {
      const page = await listEffects({ store }, { limit: 100, state: "unknown", after });
      for (const { args } of page.effects) found.add((JSON.parse(args) as { n: number }).n);
      after = page.next;
    } while (after !== undefined);
    return found;
  }
}

/** One client, one proxy, one upstream: what happens until the client has an answer, or none will come. */
class RoundWorld {
  readonly #fault: RoundFault | undefined;
  readonly #clock: ManualClock;
  readonly #executed: Map<number, number>;
  readonly #options: RoundsOptions;
  readonly #store: ReturnType<typeof faultyStore>;
  readonly #pipes: Readonly<Record<"toProxy" | "toClient" | "toUpstream" | "fromUpstream", CutPipe>>;
  #heard: (heard: Heard) => void = () => {};
  #upstreamEnded: (reason: string) => void = () => {};
  #isUpstreamDead = false;
  hasHappened = false;

  constructor(fault: RoundFault | undefined, clock: ManualClock, engine: Engine, executed: Map<number, number>, options: RoundsOptions) {
    this.#fault = fault;
    this.#clock = clock;
    this.#executed = executed;
    this.#options = options;
    const cutAt = (pipe: RoundFault["at"]): CutPipe => (fault?.at === pipe ? new CutPipe(fault.afterBytes, () => this.#strike()) : new CutPipe());
    this.#pipes = { toProxy: cutAt("toProxy"), toClient: cutAt("toClient"), toUpstream: cutAt("toUpstream"), fromUpstream: cutAt("fromUpstream") };
    this.#store = faultyStore(openNamespaceStore(engine, "rounds", clock), fault, () => this.#strike());
  }

  async run(n: number, isProxied: boolean): Promise<Heard> {
    const heard = new Promise<Heard>((resolve) => {
      this.#heard = resolve;
    });
    const { toProxy, toClient, toUpstream, fromUpstream } = this.#pipes;
    this.#serveUpstream(isProxied ? toUpstream : toProxy, isProxied ? fromUpstream : toClient);
    const ended = isProxied ? this.#startProxy() : Promise.resolve();
    void ended.then(() => turn().then(() => this.#heard({ kind: "cut" })));
    toClient.eachLine((line) => this.#hear(line));
    toClient.once("close", () => this.#heard({ kind: "cut" }));
    const line = `${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "send", arguments: { n } } })}\n`;
    toProxy.write(line);
    if (this.#fault?.at === "twice") toProxy.write(line.replace('"id":1', '"id":2'));
    const outcome = await heard;
    toProxy.end();
    toClient.destroy();
    // A proxy that was killed does not end, because nothing of it does.
    await Promise.race([ended, this.#store.died]);
    this.#kill("upstream");
    return outcome;
  }

  #startProxy(): Promise<unknown> {
    const { records: Records = CallRecords, rule = "effect", clock } = { ...this.#options };
    const { toProxy, toClient, toUpstream, fromUpstream } = this.#pipes;
    const ended = new Promise<string>((resolve) => {
      this.#upstreamEnded = resolve;
    });
    return serveProxy({
      open: () => ({ stdin: toUpstream, stdout: fromUpstream, ended, stop: async () => this.#upstreamEnded("ended") }),
      records: new Records({
        scope: { store: this.#store.store, clock, writer: "tester" },
        log: silentLog,
        upstreamName,
        repeatMs: 86_400_000,
        liveMs,
        waitMs: 2_000,
        recordMs: 500,
      }),
      rules: readToolRules({ json: { tools: { send: rule } }, origin: "rounds" }),
      place: {},
      stdin: toProxy,
      stdout: toClient,
      clock,
      log: silentLog,
      endMsMax: 2_000,
    });
  }

  #serveUpstream(input: CutPipe, output: CutPipe): void {
    const { at } = this.#fault ?? {};
    const { deliveries = 1 } = this.#options;
    input.eachLine((line) => {
      const { id, method, params } = JSON.parse(line) as { readonly id: number; readonly method: string; readonly params: { readonly arguments: { readonly n: number } } };
      if (method !== "tools/call" || this.#isUpstreamDead) return;
      if (at === "beforeEffect") return this.#strike();
      const { n } = params.arguments;
      const count = (this.#executed.get(n) ?? 0) + deliveries;
      this.#executed.set(n, count);
      if (at === "afterEffect") return this.#strike();
      const answer = `${JSON.stringify({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: `did ${n} as ${count}` }] } })}\n`;
      if (at === "late") void this.#clock.sleep(3_000).then(() => output.write(answer));
      else output.write(at === "answeredTwice" ? answer + answer : answer);
      if (at === "late") this.#strike();
    });
  }

  #hear(line: string): void {
    const { id, result, error } = JSON.parse(line) as {
      readonly id?: unknown;
      readonly result?: { readonly isError?: boolean; readonly content: readonly { readonly text: string }[]; readonly _meta?: Record<string, { readonly state?: string }> };
      readonly error?: unknown;
    };
    if (id !== 1) return;
    const text = result?.content.map((part) => part.text).join("\n") ?? JSON.stringify(error);
    const state = result?._meta?.["holdfast/effect"]?.state;
    if (result !== undefined && result.isError !== true) this.#heard({ kind: "answered", text });
    else this.#heard({ kind: state === "unknown" ? "unknown" : "refused", text });
  }

  #strike(): void {
    if (this.hasHappened) return;
    this.hasHappened = true;
    const { victim } = this.#fault as RoundFault;
    if (victim !== "store") this.#kill(victim);
  }

  #kill(victim: "client" | "proxy" | "upstream"): void {
    const { toProxy, toClient, toUpstream, fromUpstream } = this.#pipes;
    const isBare = this.#options.isProxied === false;
    if (victim === "client" || (victim === "proxy" && isBare)) {
      toProxy.end();
      toClient.destroy();
      this.#heard({ kind: "cut" });
    } else if (victim === "proxy") {
      this.#store.die();
      for (const pipe of [toProxy, toClient, toUpstream, fromUpstream]) pipe.destroy();
      this.#heard({ kind: "cut" });
    } else {
      this.#isUpstreamDead = true;
      if (isBare) toClient.destroy();
      toUpstream.destroy();
      fromUpstream.destroy();
      this.#upstreamEnded("was ended by SIGKILL");
    }
  }
}
