import { readFile, realpath, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";

const memoryFolder = "/dev/shm";
const tmpfsType = 0x01021994;
const roomBytesMin = 2 * 1_024 ** 3;

/**
 * Where the tests, and servers that no test kills, keep their data: in memory where the system has room for it. They sync as ever; only the disk does not
 * make anybody wait.
 */
export async function quickRoot(): Promise<string> {
  const facts = await statfs(memoryFolder).catch(() => undefined);
  const hasRoom = facts?.type === tmpfsType && facts.bavail * facts.bsize >= roomBytesMin;
  return hasRoom && (await runsPrograms(memoryFolder)) ? realpath(memoryFolder) : tmpdir();
}

/** Tests make programs and load native code from there; some containers forbid both. */
async function runsPrograms(folder: string): Promise<boolean> {
  const mounts = (await readFile("/proc/mounts", "utf8").catch(() => "")).split("\n").map((line) => line.split(" "));
  const options = mounts.findLast(([, where]) => where === folder)?.[3]?.split(",") ?? ["noexec"];
  return !options.includes("noexec");
}
