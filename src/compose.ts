import { type Config, systemUser } from "./config.ts";
import { openEngine } from "./engines/open-store.ts";
import { systemClock } from "./kernel/clock.ts";
import { type Log, openLog } from "./kernel/log.ts";
import { version } from "./kernel/version.ts";
import { maintain } from "./store/maintenance.ts";
import { openNamespaceStore } from "./store/namespace-store.ts";
import { selectTools } from "./tools/profiles.ts";
import type { ToolBase } from "./tools/run-tool.ts";
import type { Tool } from "./tools/tool.ts";

/** Everything a surface needs, put together from one configuration. */
export interface Runtime extends AsyncDisposable {
  readonly config: Config;
  readonly log: Log;
  /** The tools this configuration offers. */
  readonly tools: readonly Tool[];
  readonly context: ToolBase;
}

/** `stays`: a process that stays looks after the store in the background; one command leaves that to others. */
export async function openRuntime(config: Config, { stays }: { readonly stays: boolean }): Promise<Runtime> {
  const log = openLog(config.logLevel);
  const clock = systemClock;
  // A wrong tool name is refused before any file is created.
  const tools = selectTools({ profile: config.profile, toolsets: config.tools, readOnly: config.readOnly });
  const engine = await openEngine(config.store, { clock, log });
  try {
    const store = openNamespaceStore(engine, config.namespace, clock);
    const server = { version, startedAtMs: clock.nowMs(), claimTtlMs: config.claimTtlMs, engine };
    const stop = new AbortController();
    const maintenance = stays ? maintain({ engine, clock, log, retention: retentionPolicy(config) }, stop.signal) : undefined;
    return {
      config,
      log,
      tools,
      context: { store, clock, writer: systemUser(), server },
      async [Symbol.asyncDispose]() {
        stop.abort();
        await maintenance;
        await engine[Symbol.asyncDispose]();
      },
    };
  } catch (error) {
    await engine[Symbol.asyncDispose]();
    throw error;
  }
}

/** Versions of deleted keys are remembered as long as they plausibly matter: one for every revision of history kept. */
const retentionPolicy = (config: Config) => ({ ageMs: config.historyAgeMs, revisions: config.historyRevisions, tombstones: config.historyRevisions });
