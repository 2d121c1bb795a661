import { readdir } from "node:fs/promises";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Meter } from "../kernel/meter.ts";

/** How often the event loop's delay is sampled. */
const delayResolutionMs = 20;

/** Metrics of the process itself, under the names that standard dashboards use. Returns a function that stops them. */
export function watchProcess(meter: Meter, version: string): () => void {
  const startedSeconds = Date.now() / 1_000 - process.uptime();
  meter.gauge("holdfast_build_info", "Always 1; the labels describe the running version.", () => [{ labels: [version, process.version], value: 1 }], ["version", "node"]);
  meter.total("process_cpu_seconds_total", "Processor time used, user and system.", () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000_000;
  });
  meter.gauge("process_resident_memory_bytes", "Memory in use.", () => process.memoryUsage.rss());
  meter.gauge("process_start_time_seconds", "Start time of the process, in seconds since 1970.", () => startedSeconds);
  meter.gauge("process_open_fds", "Open file descriptors, on systems that report them.", openDescriptors);
  meter.gauge("holdfast_heap_used_bytes", "JavaScript objects in memory.", () => process.memoryUsage().heapUsed);
  const delay = monitorEventLoopDelay({ resolution: delayResolutionMs });
  delay.enable();
  meter.gauge(
    "holdfast_event_loop_delay_seconds",
    "Event loop delay since the last scrape; above a tenth of a second every request is slow.",
    () => {
      const seconds = (nanoseconds: number): number => Math.max(0, Number.isFinite(nanoseconds) ? nanoseconds / 1e9 - delayResolutionMs / 1_000 : 0);
      const samples = [
        { labels: ["p50"], value: seconds(delay.percentile(50)) },
        { labels: ["p99"], value: seconds(delay.percentile(99)) },
        { labels: ["max"], value: seconds(delay.max) },
      ];
      delay.reset();
      return samples;
    },
    ["at"],
  );
  return () => void delay.disable();
}

async function openDescriptors(): Promise<number | undefined> {
  try {
    // One of the descriptors is the listing's own.
    return (await readdir("/proc/self/fd")).length - 1;
  } catch {
    return undefined;
  }
}
