import { onTestFinished } from "vitest";
import { systemClock } from "../../../src/kernel/clock.ts";
import { between, seededRandom } from "../../../src/verify/random.ts";
import type { WorkerCommand } from "../../../src/verify/worker-process.ts";
import { openProgress } from "../open-progress.ts";
import { ServerProcess } from "./server-process.ts";
import type { RecordedCall } from "./tool-journal.ts";
import { ToolJournal } from "./tool-journal.ts";
import { putUnderLoad } from "./tool-load.ts";

export interface KillSize {
  /** Kills of servers under load; some more are killed while they start. */
  readonly kills: number;
  /** Servers at one time, all on one file. */
  readonly servers: number;
  /** Calls in flight on each. */
  readonly lanes: number;
  readonly seed: number;
}

export interface KilledServers {
  readonly journal: ToolJournal;
  readonly figures: Readonly<Record<string, number>>;
}

/** One in so many servers is killed while it is still starting or opening the store. */
const earlyKills = 15;
const startMsMax = 150;
/** From the first answered calls on; of one in so many from the first call sent, so that first commits are cut too. */
const loadMs = { min: 5, max: 80 } as const;
const coldKills = 5;
const askedAgainAtOnce = 64;

/**
 * Real MCP servers on one store, each with many calls in flight, killed (SIGKILL) at random moments and started again. Calls with a request key that a kill
 * cut off are asked again on another server; in the end every such call, answered or not, is asked once more.
 */
export async function killServers(command: WorkerCommand, { kills, servers, lanes, seed }: KillSize): Promise<KilledServers> {
  const random = seededRandom(seed);
  const journal = new ToolJournal();
  const fleet = new Fleet(command);
  const tell = openProgress("servers killed");
  let killed = 0;
  let killedEarly = 0;
  let inFlight = 0;
  let inFlightMin = Number.POSITIVE_INFINITY;
  const slot = async (): Promise<void> => {
    while (killed < kills) {
      const server = fleet.start();
      if (between(random, 1, earlyKills) === 1) {
        await Promise.race([systemClock.sleep(between(random, 1, startMsMax)), server.ended]);
        killedEarly += 1;
        server.kill();
        await server.ended;
        continue;
      }
      await server.ready;
      const load = putUnderLoad(server, { journal, random }, lanes);
      if (between(random, 1, coldKills) !== 1) await Promise.race([server.firstCallsAnswered, server.ended, load]);
      await Promise.race([systemClock.sleep(between(random, loadMs.min, loadMs.max)), server.ended, load]);
      inFlight += server.inFlight;
      inFlightMin = Math.min(inFlightMin, server.inFlight);
      killed += 1;
      tell(killed, kills);
      server.kill();
      await server.ended;
      await load;
    }
  };
  await Promise.all(Array.from({ length: servers }, slot));
  const acknowledgedByKilled = journal.calls.filter(({ answers }) => answers.length > 0).length;
  const cutKeyed = journal.calls.filter((call) => call.requestKey !== undefined && call.cuts > 0).length;
  await askAgain(fleet, journal, [...journal.unanswered.splice(0)]);
  const answered = journal.calls.filter((call) => call.requestKey !== undefined && call.answers[0]?.isError === false);
  await askAgain(fleet, journal, answered);
  await fleet.stop();
  return {
    journal,
    figures: {
      kills: killed,
      kills_while_starting: killedEarly,
      in_flight_at_a_kill_on_average: Math.round(inFlight / killed),
      in_flight_at_a_kill_at_least: inFlightMin,
      calls: journal.calls.length,
      acknowledged: journal.calls.filter(({ answers }) => answers.length > 0).length,
      acknowledged_by_killed_servers: acknowledgedByKilled,
      cut: journal.calls.reduce((sum, { cuts }) => sum + cuts, 0),
      cut_with_a_request_key: cutKeyed,
      retried: journal.calls.reduce((sum, { sent }) => sum + sent - 1, 0),
      never_answered: journal.calls.filter(({ answers }) => answers.length === 0).length,
    },
  };
}

/** A server of its own that nobody kills. */
async function askAgain(fleet: Fleet, journal: ToolJournal, calls: readonly RecordedCall[]): Promise<void> {
  const server = fleet.start();
  await server.ready;
  const queue = calls.values();
  const lane = async (): Promise<void> => {
    for (const call of queue) await journal.send(server, call);
  };
  await Promise.all(Array.from({ length: askedAgainAtOnce }, lane));
  await server.finish();
}

/** Whatever happens, and also when the test runs out of time, no server is left behind and none is started any more. */
class Fleet {
  readonly #command: WorkerCommand;
  readonly #running = new Set<ServerProcess>();
  #stopped = false;

  constructor(command: WorkerCommand) {
    this.#command = command;
    onTestFinished(() => this.stop());
  }

  start(): ServerProcess {
    if (this.#stopped) throw new Error("The campaign is over.");
    const server = new ServerProcess(this.#command);
    this.#running.add(server);
    const forget = (): void => void this.#running.delete(server);
    server.ended.then(forget, forget);
    return server;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    const left = [...this.#running];
    for (const server of left) server.kill();
    await Promise.allSettled(left.map((server) => server.ended));
  }
}
