import type { Meter } from "../kernel/meter.ts";
import type { Engine, EngineWarning } from "../store/store.ts";

const abouts: readonly EngineWarning["about"][] = ["clock", "durability", "file mode", "history", "eviction", "memory", "rights"];
/** One health check serves several metrics and all scrapers within this time. */
const freshMs = 1_000;
const probeMsMax = 1_500;

interface Probe {
  readonly up: boolean;
  readonly seconds: number;
  readonly warnings: readonly EngineWarning[];
}

/** Whether the engine responds, how fast, and its warnings by subject; the texts of the warnings are in `/health`. */
export function watchEngine(meter: Meter, engine: Engine, namespace: string): void {
  let last: { readonly atMs: number; readonly probe: Promise<Probe> } | undefined;
  const look = (): Promise<Probe> => {
    const atMs = meter.nowMs();
    if (last === undefined || atMs - last.atMs > freshMs) last = { atMs, probe: probe(meter, engine, namespace) };
    return last.probe;
  };
  meter.gauge("holdfast_engine_up", "1 while the engine responds in time.", async () => [{ labels: [engine.name], value: (await look()).up ? 1 : 0 }], ["engine"]);
  meter.gauge("holdfast_engine_probe_seconds", "Duration of the engine's health check.", async () => (await look()).seconds);
  meter.gauge(
    "holdfast_engine_warnings",
    "Findings that need an operator's attention, by subject.",
    async () => {
      const { up, warnings } = await look();
      return up ? abouts.map((about) => ({ labels: [about], value: warnings.filter((warning) => warning.about === about).length })) : undefined;
    },
    ["about"],
  );
}

async function probe(meter: Meter, engine: Engine, namespace: string): Promise<Probe> {
  const beganMs = meter.nowMs();
  const seconds = (): number => (meter.nowMs() - beganMs) / 1_000;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, probeMsMax, undefined);
    timer.unref();
  });
  try {
    const health = await Promise.race([engine.health(namespace), late]);
    return { up: health !== undefined, seconds: seconds(), warnings: health?.warnings ?? [] };
  } catch {
    return { up: false, seconds: seconds(), warnings: [] };
  } finally {
    clearTimeout(timer);
  }
}
