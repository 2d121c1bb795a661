import type { Config } from "./config.ts";
import { systemUser } from "./config.ts";
import { openHolderChore } from "./domain/leases/forget-holders.ts";
import { openEngine } from "./engines/open-store.ts";
import type { Clock } from "./kernel/clock.ts";
import { systemClock } from "./kernel/clock.ts";
import { HoldfastError, isHoldfastError } from "./kernel/errors.ts";
import type { Log } from "./kernel/log.ts";
import { openLog } from "./kernel/log.ts";
import { version } from "./kernel/version.ts";
import { maintain } from "./store/maintenance.ts";
import { openNamespaceStore } from "./store/namespace-store.ts";
import type { Engine } from "./store/store.ts";
import { selectTools } from "./tools/profiles.ts";
import type { ToolBase } from "./tools/run-tool.ts";
import type { Tool } from "./tools/tool.ts";

/** An open store with everything that works on it: what the tools and the library are given. */
export interface OpenStore extends AsyncDisposable {
  readonly base: ToolBase;
  readonly log: Log;
}

/** Everything a surface needs, put together from one configuration. */
export interface Runtime extends OpenStore {
  readonly config: Config;
  /** The tools this configuration offers. */
  readonly tools: readonly Tool[];
}

export interface OpenOptions {
  /** A process that stays looks after the store in the background; one command leaves that to others. */
  readonly stays: boolean;
  readonly log?: Log;
  /** The principal that history names; the operating system's user by default. */
  readonly writer?: string;
}

export async function openRuntime(config: Config, options: OpenOptions): Promise<Runtime> {
  // A wrong tool name is refused before any file is created.
  const tools = toolsOf(config);
  return { ...(await openStore(config, options)), config, tools };
}

export async function openStore(config: Config, { stays, log = openLog(config.logLevel), writer = systemUser() }: OpenOptions): Promise<OpenStore> {
  const clock = systemClock;
  const engine = await openEngine(config.store, { clock, log });
  try {
    const store = openNamespaceStore(engine, config.namespace, clock);
    const server = { version, startedAtMs: clock.nowMs(), claimTtlMs: config.claimTtlMs, engine };
    const stop = new AbortController();
    const maintenance = stays ? maintain({ engine, clock, log, retention: retentionPolicy(config), chores: [holderChore(engine, clock)] }, stop.signal) : undefined;
    return {
      base: { store, clock, writer, server },
      log,
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

/** The refusal names the flag or variable that the person wrote. */
function toolsOf({ profile, tools, readOnly, origins }: Config): readonly Tool[] {
  try {
    return selectTools({ profile, toolsets: tools, readOnly });
  } catch (error) {
    const field = isHoldfastError(error, "invalid_input") ? error.details?.field : undefined;
    if (!isHoldfastError(error) || (field !== "profile" && field !== "tools")) throw error;
    throw new HoldfastError("invalid_input", error.message.replace(`${field}: `, `${origins[field]}: `), { hint: error.hint, details: error.details });
  }
}

/** Versions of deleted keys are remembered as long as they plausibly matter: one for every revision of history kept. */
const retentionPolicy = (config: Config) => ({ ageMs: config.historyAgeMs, revisions: config.historyRevisions, tombstones: config.historyRevisions });

/** Each namespace has a chore of its own, because it remembers how far it got. */
function holderChore(engine: Engine, clock: Clock): (namespace: string) => Promise<void> {
  const chores = new Map<string, () => Promise<void>>();
  return (namespace) => {
    let chore = chores.get(namespace);
    if (chore === undefined) {
      const store = openNamespaceStore(engine, namespace, clock);
      const forgetHolders = openHolderChore();
      chore = () => forgetHolders(store);
      chores.set(namespace, chore);
    }
    return chore();
  };
}
