import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Config } from "./config.ts";
import { gitEnvironment, systemUser } from "./config.ts";
import { openBlobChore } from "./domain/blobs/collect-blobs.ts";
import { openReindexChore } from "./domain/findable/reindex.ts";
import { openHolderChore } from "./domain/leases/forget-holders.ts";
import type { Mirror } from "./domain/mirror/mirror.ts";
import { openFolderReader } from "./domain/workspace/repository-reader.ts";
import { readRepositoryState } from "./domain/workspace/repository-state.ts";
import { embeddingSettingsOf } from "./embeddings/embedding-settings.ts";
import type { OpenEmbeddings } from "./embeddings/open-embeddings.ts";
import { openEngine } from "./engines/open-store.ts";
import type { Clock } from "./kernel/clock.ts";
import { systemClock } from "./kernel/clock.ts";
import { HoldfastError, isHoldfastError } from "./kernel/errors.ts";
import type { Log } from "./kernel/log.ts";
import { openLog } from "./kernel/log.ts";
import type { Meter } from "./kernel/meter.ts";
import { version } from "./kernel/version.ts";
import type { VectorSearch } from "./search/vector-search.ts";
import { engineFacts } from "./store/engine-facts.ts";
import { maintain } from "./store/maintenance.ts";
import type { NamespaceStoreOptions } from "./store/namespace-store.ts";
import { isReservedNamespace, openNamespaceStore } from "./store/namespace-store.ts";
import type { Engine, Store } from "./store/store.ts";
import type { Observers } from "./telemetry/open-observers.ts";
import type { OpenTracer } from "./telemetry/open-tracer.ts";
import { ConnectionClaims } from "./tools/claim-identity.ts";
import { selectTools } from "./tools/profiles.ts";
import type { ToolBase } from "./tools/run-tool.ts";
import type { ServerFacts, Tool } from "./tools/tool.ts";

/** An open store and the services around it, as used by the tools and the library. */
export interface OpenStore extends AsyncDisposable {
  readonly base: ToolBase;
  /** Gives access to all namespaces, for code that moves, checks or serves whole stores. Tools do not use it. */
  readonly engine: Engine;
  readonly log: Log;
  /** The options for opening any namespace of the store. */
  readonly storeOptions: NamespaceStoreOptions;
}

/** Everything a surface needs, assembled from one configuration. */
export interface Runtime extends OpenStore {
  readonly config: Config;
  /** The tools this configuration offers. */
  readonly tools: readonly Tool[];
}

export interface OpenOptions {
  /** A long-running process maintains the store in the background, unless it is read-only. A single command leaves that to others. */
  readonly stays: boolean;
  readonly log?: Log;
  /** The principal that history records as the writer; the operating system's user by default. */
  readonly writer?: string;
  /** False: a missing store is an error (`not_found`) instead of being created. */
  readonly creates?: boolean;
  /** Set in a process that exposes metrics. */
  readonly meter?: Meter;
  /** True: calls are traced if a collector is configured. */
  readonly traces?: boolean;
}

export async function openRuntime(config: Config, options: OpenOptions): Promise<Runtime> {
  // A wrong tool name is rejected before any file is created.
  const tools = toolsOf(config);
  return { ...(await openStore(config, options)), config, tools };
}

export async function openStore(
  config: Config,
  { stays, log = openLog(config.logLevel), writer = systemUser(), creates = true, meter, traces = false }: OpenOptions,
): Promise<OpenStore> {
  const clock = systemClock;
  const embeddings = embeddingsOf(config, { clock, log });
  // A process that stays opens the model at once, so that what is wrong with it is told at the start; a single command opens it when it asks.
  if (stays) await embeddings?.();
  const engine = await openEngineOrBeside(config, { clock, log, creates });
  try {
    const observers = meter && (await observersOf(meter, engine, config));
    const tracer = traces ? await tracerOf(config, log, meter) : undefined;
    const storeOptions = { keysMax: config.keysMax, observer: observers?.store };
    const store = openNamespaceStore(engine, config.namespace, clock, storeOptions);
    const server = {
      version,
      startedAtMs: clock.nowMs(),
      profile: config.profile,
      claims: new ConnectionClaims(),
      claimTtlMs: config.claimTtlMs,
      ...engineFacts(engine),
      mirror: mirrorOf(config, log),
      backUp: backUpOf(config, engine, clock),
      secrets: config.secrets === "allow" ? undefined : config.secrets,
      observer: observers?.tools,
      tracer,
      vectors: embeddings && vectorsOf(embeddings),
      ...journalFacts(config),
    };
    const stop = new AbortController();
    // Maintenance writes to the store, and read-only covers the file too.
    const maintenance =
      stays && !config.readOnly
        ? maintain(
            {
              engine,
              clock,
              log,
              retention: retentionPolicy(config),
              chores: [openHolderChore, openReindexChore, openBlobChore].map((open) => choreOf(engine, clock, open)),
              swept: observers?.swept,
            },
            stop.signal,
          )
        : undefined;
    const embedding = stays && !config.readOnly ? embeddings?.().then(({ maintain: embed }) => embed(engine, stop.signal)) : undefined;
    return {
      base: { store, clock, writer, server },
      engine,
      log,
      storeOptions,
      async [Symbol.asyncDispose]() {
        stop.abort();
        observers?.[Symbol.dispose]();
        await tracer?.[Symbol.asyncDispose]();
        await Promise.all([maintenance, embedding]);
        await engine[Symbol.asyncDispose]();
      },
    };
  } catch (error) {
    await engine[Symbol.asyncDispose]();
    throw error;
  }
}

/** Loaded only where a model is configured, and opened once. */
function embeddingsOf(config: Config, options: { readonly clock: Clock; readonly log: Log }): (() => Promise<OpenEmbeddings>) | undefined {
  const settings = embeddingSettingsOf(config);
  if (settings === undefined) return undefined;
  let opened: Promise<OpenEmbeddings> | undefined;
  const open = async (): Promise<OpenEmbeddings> => (await import("./embeddings/open-embeddings.ts")).openEmbeddings(settings, options);
  return () => {
    opened ??= open();
    return opened;
  };
}

const vectorsOf = (open: () => Promise<OpenEmbeddings>): VectorSearch => ({
  async compare(store, wordings) {
    try {
      return await (await open()).vectors.compare(store, wordings);
    } catch (error) {
      return { problem: error instanceof Error ? error.message : String(error) };
    }
  },
});

/** Loaded only in a process that exposes metrics. */
async function observersOf(meter: Meter, engine: Engine, { namespace }: Config): Promise<Observers> {
  const { openObservers } = await import("./telemetry/open-observers.ts");
  return openObservers(meter, { engine, namespace, version });
}

/** Loaded only if a collector is configured. */
async function tracerOf({ otlpEndpoint: endpoint, otlpHeaders, otlpServiceName, otlpSampleRatio }: Config, log: Log, meter?: Meter): Promise<OpenTracer | undefined> {
  if (endpoint === undefined) return undefined;
  const { openTracer } = await import("./telemetry/open-tracer.ts");
  return openTracer({ endpoint, headers: otlpHeaders, serviceName: otlpServiceName, version, sampleRatio: otlpSampleRatio, log, meter });
}

/** A store for the duration of one command, in a temporary folder that only this user can open. */
export async function openScratch(): Promise<{ readonly engine: Engine } & AsyncDisposable> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-scratch-"));
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    const engine = await openEngine(`sqlite:${join(folder, "scratch.db")}`);
    return {
      engine,
      async [Symbol.asyncDispose]() {
        await engine[Symbol.asyncDispose]();
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

/**
 * After switching from a replaced system, that system's variable may still name its own file. That file is not touched:
 * Holdfast opens a store next to it, and the log says how to import the contents.
 */
async function openEngineOrBeside({ store, origins }: Config, options: { readonly clock: Clock; readonly log: Log; readonly creates: boolean }): Promise<Engine> {
  try {
    return await openEngine(store, options);
  } catch (error) {
    const isForeign = isHoldfastError(error, "store_damaged") && error.details?.foreign === true;
    if (!isForeign || (origins.store !== "CHECKPOINT_DB_PATH" && origins.store !== "DB_PATH")) throw error;
    options.log("warn", "foreign_file_not_touched", {
      variable: origins.store,
      used_instead: `${store}.holdfast`,
      import_with: `holdfast import ${store.slice("sqlite:".length)}`,
    });
    return openEngine(`${store}.holdfast`, options);
  }
}

/** Errors name the flag or variable that the user wrote. */
export function toolsOf({ profile, tools, readOnly, origins }: Config): readonly Tool[] {
  try {
    return selectTools({ profile, toolsets: tools, readOnly });
  } catch (error) {
    const field = isHoldfastError(error, "invalid_input") ? error.details?.field : undefined;
    if (!isHoldfastError(error) || (field !== "profile" && field !== "tools")) throw error;
    throw new HoldfastError("invalid_input", error.message.replace(`${field}: `, `${origins[field]}: `), { hint: error.hint, details: error.details });
  }
}

/** The dashboard offers every tool unless the configuration selects some. The default profile is smaller only because each tool costs a model tokens. */
export const pageToolsOf = (config: Config): readonly Tool[] =>
  config.profile === undefined && config.tools === undefined ? selectTools({ profile: "all", readOnly: config.readOnly }) : toolsOf(config);

/** The versions of deleted keys are kept while they plausibly matter: one for every revision of history. */
const retentionPolicy = (config: Config) => ({ ageMs: config.historyAgeMs, revisions: config.historyRevisions, tombstones: config.historyRevisions });

/** The timeout for each git command; a caller of resume waits for it. */
const gitPatienceMs = 1_000;

/** The process runs in the folder where its client or user works. */
const journalFacts = ({ journalFormat, journalAgeMs, home }: Config) => ({
  surroundings: { folder: process.cwd(), home, reader: openFolderReader(), readState: (folder: string) => readRepositoryState(folder, gitEnvironment(), gitPatienceMs) },
  journalFormat,
  journalTtlMs: journalAgeMs,
});

/** Readable copies are written next to a local store file, or to the folders in the settings. The code is loaded when there is something to copy. */
function mirrorOf({ store, namespace, checkpointDir, knowledgeDir }: Config, log: Log): Mirror | undefined {
  const beside = (name: string): string => (store.startsWith("sqlite:") ? join(dirname(store.slice("sqlite:".length)), name) : "none");
  const mirrorFolders = { checkpointDir: checkpointDir ?? beside("checkpoints"), knowledgeDir: knowledgeDir ?? beside("knowledge"), namespace };
  if (mirrorFolders.checkpointDir === "none" && mirrorFolders.knowledgeDir === "none") return undefined;
  const load = async (): Promise<Mirror> => (await import("./transfer/mirror/open-mirror.ts")).openMirror(mirrorFolders);
  const logged = async (what: string, write: () => Promise<string | null>): Promise<string | null> => {
    try {
      return await write();
    } catch (error) {
      log("warn", "mirror_failed", { what, problem: String(error) });
      throw error;
    }
  };
  return {
    checkpoint: (checkpoint) => logged(checkpoint.id, async () => (mirrorFolders.checkpointDir === "none" ? null : (await load()).checkpoint(checkpoint))),
    note: (note) => logged(note.id, async () => (mirrorFolders.knowledgeDir === "none" ? null : (await load()).note(note))),
  };
}

/** The backup code is loaded when a namespace is first cleared. There is a single instance, so that backups are written one at a time. */
function backUpOf({ store }: Config, engine: Engine, clock: Clock): ServerFacts["backUp"] {
  if (engine.name !== "sqlite") return undefined;
  let opened: Promise<NonNullable<ServerFacts["backUp"]>> | undefined;
  const open = async () => {
    const { openResetBackups } = await import("./transfer/files/reset-backups.ts");
    return openResetBackups({ engine, clock, storePath: store.slice("sqlite:".length), madeBy: `holdfast ${version}`, openScratch });
  };
  return async (namespace) => {
    opened ??= open();
    return (await opened)(namespace);
  };
}

/** Each namespace has its own instance of the chore, which remembers its progress. */
function choreOf(engine: Engine, clock: Clock, open: () => (store: Store) => Promise<void>): (namespace: string) => Promise<void> {
  const chores = new Map<string, () => Promise<void>>();
  return (namespace) => {
    // Reserved namespaces contain no leases, no indexed text and no blobs.
    if (isReservedNamespace(namespace)) return Promise.resolve();
    let chore = chores.get(namespace);
    if (chore === undefined) {
      const store = openNamespaceStore(engine, namespace, clock);
      const perform = open();
      chore = () => perform(store);
      chores.set(namespace, chore);
    }
    return chore();
  };
}
