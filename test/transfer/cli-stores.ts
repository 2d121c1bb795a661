import { openRuntime, openScratch } from "../../src/compose.ts";
import { readConfig } from "../../src/config.ts";
import { settingFlags } from "../../src/settings.ts";
import type { CliHost } from "../../src/surfaces/cli/command.ts";
import { describeFailure } from "../../src/surfaces/cli/failure.ts";
import { runCli } from "../../src/surfaces/cli/run-cli.ts";
import type { CommandResult } from "../support/cli-host.ts";

/** The command line in this process, on real stores: each command opens and closes them, as one in a process of its own does. */
export async function runOnStores(args: readonly string[], { signal }: { readonly signal?: AbortSignal } = {}): Promise<CommandResult> {
  let stdout = "";
  let stderr = "";
  const host: CliHost = {
    version: "1.2.3",
    flags: settingFlags,
    stdin: async function* () {},
    stdinIsTerminal: false,
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text) },
    async open(flags, { onlyLooks = false } = {}) {
      const config = readConfig({ "log-level": "error", ...flags }, {});
      return openRuntime(config, { stays: false, creates: !onlyLooks && !config.readOnly, writer: "operator" });
    },
    openScratch,
    verify: () => Promise.reject(new Error("Not asked for.")),
    planClientChange: () => Promise.reject(new Error("Not asked for.")),
    planClientWrap: () => Promise.reject(new Error("Not asked for.")),
    printServer: () => Promise.reject(new Error("Not asked for.")),
    serve: async () => {
      throw new Error("These tests serve nothing.");
    },
    defaultAgent: () => "operator@host:1",
    terminalSession: () => undefined,
    outliveReader: () => undefined,
    childEnvironment: (extra) => extra as NodeJS.ProcessEnv,
    onSignal(listener) {
      const press = (): void => listener("SIGINT");
      signal?.addEventListener("abort", press);
      // Pressed before anybody listened: the key counts as soon as somebody does.
      if (signal?.aborted) queueMicrotask(press);
      return () => signal?.removeEventListener("abort", press);
    },
  };
  try {
    return { code: await runCli(args, host), stdout, stderr };
  } catch (error) {
    const { exitCode, line } = describeFailure(error);
    return { code: exitCode, stdout, stderr: stderr + line };
  }
}
