import { realpath, stat } from "node:fs/promises";
import { HoldfastError, invalidInput, isHoldfastError } from "../kernel/errors.ts";
import { quotedName } from "../kernel/nearest.ts";
import { readAgentCheckpoint } from "./originals/agentcheckpoint.ts";
import { detectSource } from "./originals/detect-source.ts";
import { readGoldfish } from "./originals/goldfish.ts";
import type { Reading, SourceName } from "./originals/reading.ts";
import { readSage } from "./originals/sage.ts";
import { readSidecar } from "./originals/sidecar.ts";
import { readMirror } from "./read-mirror.ts";

const readers: Readonly<Record<SourceName, (path: string) => Promise<Reading>>> = {
  agentcheckpoint: readAgentCheckpoint,
  sidecar: readSidecar,
  goldfish: readGoldfish,
  sage: readSage,
  mirror: readMirror,
};

const databases: ReadonlySet<SourceName> = new Set(["agentcheckpoint", "sidecar"]);

/** Reads everything from another system's store. Nothing is changed: neither its files nor any next to them. */
export async function readSource(path: string, source: SourceName | undefined): Promise<Reading> {
  try {
    // The path itself may be a link, because the user chose it; links below it are not followed.
    const real = await realpath(path);
    const found = source ?? (await detectSource(real));
    if (databases.has(found) && !(await stat(real)).isFile()) throw invalidInput("<path>", `must be a database file for source ${found}`);
    return await readers[found](real);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // The readers report the resolved path; the error shows the path as typed.
    if (isHoldfastError(error) && error.message.startsWith("<path>:"))
      throw new HoldfastError(error.code, error.message.replace("<path>:", `<path> ${quotedName(path)}:`), { hint: error.hint, details: error.details, cause: error });
    if (isHoldfastError(error) || typeof code !== "string" || !/^E[A-Z]+$/.test(code)) throw error;
    if (code === "ENOENT") throw new HoldfastError("not_found", `<path>: there is no file or folder ${quotedName(path)}.`, { cause: error });
    throw new HoldfastError("invalid_input", `<path>: ${quotedName(path)} cannot be read (${code})`, { cause: error });
  }
}
