import { readConfig } from "../../src/config.ts";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import { silentLog } from "../../src/kernel/log.ts";
import { settingFlags } from "../../src/settings.ts";
import { engineFacts } from "../../src/store/engine-facts.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import type { CliHost } from "../../src/surfaces/cli/command.ts";
import { describeFailure } from "../../src/surfaces/cli/failure.ts";
import { runCli } from "../../src/surfaces/cli/run-cli.ts";
import { manualClock } from "./manual-clock.ts";

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The command line in this process: every command of one test works on the same memory store and the same standing clock. */
export function openCommandLine({
  terminal = false,
  stdinIsTerminal = false,
  columns,
  environment = {},
  session,
}: {
  readonly terminal?: boolean;
  readonly columns?: number;
  readonly stdinIsTerminal?: boolean;
  readonly environment?: Record<string, string>;
  /** Of the terminal. */
  readonly session?: string;
} = {}) {
  const clock = manualClock();
  const engine = new MemoryEngine(clock);
  const interrupt = new Set<(signal: NodeJS.Signals) => void>();
  async function run(args: readonly string[], { stdin = [] }: { readonly stdin?: readonly string[] } = {}): Promise<CommandResult> {
    let stdout = "";
    let stderr = "";
    const host: CliHost = {
      version: "1.2.3",
      flags: settingFlags,
      stdin: () => streamOf(stdin),
      stdinIsTerminal,
      stdout: { isTTY: terminal, columns, write: (text) => (stdout += text) },
      stderr: { isTTY: terminal, write: (text) => (stderr += text) },
      async open(flags) {
        const config = readConfig(flags, { HOLDFAST_STORE: "memory:", ...environment });
        const store = openNamespaceStore(engine, config.namespace, clock);
        const server = {
          version: "1.2.3",
          startedAtMs: clock.nowMs(),
          claimTtlMs: config.claimTtlMs,
          ...(config.secrets === "allow" ? {} : { secrets: config.secrets }),
          ...engineFacts(engine),
        };
        return { config, log: silentLog, base: { store, clock, writer: "tester", server }, engine, [Symbol.asyncDispose]: async () => {} };
      },
      openScratch: async () => ({ engine: new MemoryEngine(clock), [Symbol.asyncDispose]: async () => {} }),
      verify: async (flags, { quick, seed }) => ({ passed: flags.store !== "sqlite:broken", report: { quick, seed }, text: "the report\n" }),
      planClientChange: async () => {
        throw new Error("These tests change no client's files.");
      },
      planClientWrap: async () => {
        throw new Error("These tests change no client's files.");
      },
      printServer: async () => {
        throw new Error("These tests print no client's configuration.");
      },
      serve: async () => {
        throw new Error("These tests serve nothing.");
      },
      defaultAgent: () => "tester@host:1",
      terminalSession: () => session,
      outliveReader: () => undefined,
      childEnvironment: (extra) => extra as NodeJS.ProcessEnv,
      onSignal(listener) {
        interrupt.add(listener);
        return () => interrupt.delete(listener);
      },
    };
    try {
      return { code: await runCli(args, host), stdout, stderr };
    } catch (error) {
      const { exitCode, line } = describeFailure(error);
      return { code: exitCode, stdout, stderr: stderr + line };
    }
  }
  return {
    run,
    clock,
    engine,
    /** The parsed output of a command run with `--json`. */
    async json(...args: readonly string[]): Promise<Record<string, unknown>> {
      return JSON.parse((await run([...args, "--json"])).stdout);
    },
    press: (signal: NodeJS.Signals) => {
      for (const listener of interrupt) listener(signal);
    },
    waiting: () => interrupt.size,
  };
}

async function* streamOf(chunks: readonly string[]): AsyncGenerator<string> {
  yield* chunks;
}
