import { systemClock } from "../../src/kernel/clock.ts";
import { between, seededRandom } from "../../src/verify/random.ts";
import type { WorkerCommand } from "../../src/verify/worker-process.ts";
import { Cut, ServerProcess } from "../support/kill-server/server-process.ts";
import type { RecordedCall } from "../support/kill-server/tool-journal.ts";
import { ToolJournal } from "../support/kill-server/tool-journal.ts";

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely by the story
type Answer = any;

const serversKept = 2;
/** Anywhere between the sending of a call and its answer, and sometimes after it. */
const killWithinMs = 4;

/**
 * A client that sends every call to the other server than the one before. Every so often the server that it calls, or the one that waits, is
 * killed with -9 and another started in its place; a call that was cut is sent again, under its request key, to whoever is next.
 */
export class RoundRobin implements AsyncDisposable {
  readonly journal = new ToolJournal();
  kills = 0;
  readonly #command: WorkerCommand;
  readonly #killEvery: number;
  readonly #random = seededRandom(20_261_115);
  readonly #servers: ServerProcess[];
  #calls = 0;
  #changes = 0;

  constructor(command: WorkerCommand, killEvery: number) {
    this.#command = command;
    this.#killEvery = killEvery;
    this.#servers = Array.from({ length: serversKept }, () => new ServerProcess(command));
  }

  get cuts(): number {
    return this.journal.calls.reduce((sum, { cuts }) => sum + cuts, 0);
  }

  /** Makes a change; its arguments are given a label unlike any other's. Every few of them are asked for a second time. */
  async change(tool: string, args: (label: string) => Record<string, unknown>): Promise<Answer> {
    const label = this.journal.newLabel();
    const recorded: RecordedCall = { label, tool, args: args(label), requestKey: `key of ${label}`, answers: [], cuts: 0, sent: 0 };
    this.journal.calls.push(recorded);
    this.#changes += 1;
    const strikes = this.#changes % this.#killEvery === 0;
    const answer = await this.#untilAnswered((server) => this.journal.send(server, recorded), strikes);
    // The audit compares the answers. What was refused is decided anew when it is asked again.
    if (this.#changes % 3 === 0 && (answer.structured.ok ?? answer.structured.success) === true) await this.#untilAnswered((server) => this.journal.send(server, recorded), false);
    return answer.structured;
  }

  async read(tool: string, args: Record<string, unknown>): Promise<Answer> {
    return (await this.#untilAnswered((server) => server.call(tool, args), false)).structured;
  }

  /** The same question to each of the servers. */
  async readFromAll(tool: string): Promise<readonly Answer[]> {
    return Promise.all(this.#servers.map(async (server) => (await server.call(tool, {})).structured));
  }

  async #untilAnswered<T>(send: (server: ServerProcess) => Promise<T>, strikes: boolean): Promise<T> {
    for (let again = false; ; again = true) {
      this.#calls += 1;
      const place = this.#calls % serversKept;
      const server = this.#servers[place] as ServerProcess;
      await server.ready;
      try {
        const answer = send(server);
        if (strikes && !again) this.#strike(this.kills % 2 === 0 ? place : (place + 1) % serversKept);
        return await answer;
      } catch (error) {
        if (!(error instanceof Cut)) throw error;
      }
    }
  }

  #strike(place: number): void {
    const victim = this.#servers[place] as ServerProcess;
    this.kills += 1;
    const kill = (): void => {
      victim.kill();
      if (this.#servers[place] === victim) this.#servers[place] = new ServerProcess(this.#command);
    };
    // Some before the server can have answered: that others meet a call on its way is chance.
    if (this.kills % 4 === 1) kill();
    else void systemClock.sleep(between(this.#random, 0, killWithinMs)).then(kill);
  }

  /** Ends the servers; one that ended by itself before that is a failure. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.finish()));
  }
}
