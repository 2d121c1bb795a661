import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { promisify } from "node:util";
import { workersDir } from "../worker-build.ts";

const services = join(workersDir, "..", "..", "scripts", "test-services");

/**
 * From now on every sync of this process takes so long, as on a busy disk. A Redis that syncs in the background holds back what it has answered
 * while a sync is on its way; a kill loses that, as a loss of power always loses what is not synced. Ends with the process.
 */
export async function slowDisk(pid: number, syncMs: number): Promise<void> {
  const strace = (await promisify(execFile)(process.execPath, [join(services, "strace.mjs")])).stdout.trim();
  const traced = ["-f", "-p", String(pid), "-o", "/dev/null", "-e", "trace=fdatasync,fsync", "-e", `inject=fdatasync,fsync:delay_enter=${syncMs * 1_000}`];
  const child = spawn(strace, traced, { stdio: ["ignore", "ignore", "pipe"] });
  child.unref();
  // Its first words say that it holds the process.
  const [words] = await once(child.stderr, "data");
  if (!String(words).includes("attached")) throw new Error(`strace does not hold process ${pid}: ${words}`);
}
