import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { removeEmptyFolders, replaceFile } from "./client-files.ts";

/** The text of an entry before and after it was wrapped. */
export interface WrappedText {
  readonly original: string;
  readonly wrapped: string;
}

interface WrapRecord {
  readonly entries: Readonly<Record<string, WrappedText>>;
  /** Folders that were created for the record itself. */
  readonly made: readonly string[];
}

const fileIn = (dataFolder: string): string => join(dataFolder, "wrapped.json");
const keyOf = (realPath: string, server: string): string => JSON.stringify([realPath, server]);

async function read(dataFolder: string): Promise<WrapRecord> {
  try {
    const { entries, made } = JSON.parse(await readFile(fileIn(dataFolder), "utf8")) as Partial<WrapRecord>;
    return { entries: typeof entries === "object" && entries !== null ? entries : {}, made: Array.isArray(made) ? made : [] };
  } catch {
    // Without a record, an entry is restored from its wrapped command line.
    return { entries: {}, made: [] };
  }
}

const write = (dataFolder: string, record: WrapRecord): Promise<readonly string[]> =>
  replaceFile(fileIn(dataFolder), `${JSON.stringify(record, null, 2)}\n`, { mode: 0o600, folderMode: 0o700 });

export const readWrapped = async (dataFolder: string, realPath: string, server: string): Promise<WrappedText | undefined> =>
  (await read(dataFolder)).entries[keyOf(realPath, server)];

export async function recordWrapped(dataFolder: string, realPath: string, server: string, text: WrappedText): Promise<void> {
  const { entries, made } = await read(dataFolder);
  const record = { entries: { ...entries, [keyOf(realPath, server)]: text }, made };
  const madeNow = await write(dataFolder, record);
  if (madeNow.length > 0) await write(dataFolder, { ...record, made: [...made, ...madeNow] });
}

/** Removing the last entry also deletes the record file and its folders. */
export async function forgetWrapped(dataFolder: string, realPath: string, server: string): Promise<void> {
  const { entries, made } = await read(dataFolder);
  const { [keyOf(realPath, server)]: _, ...others } = entries;
  if (Object.keys(others).length > 0) return void (await write(dataFolder, { entries: others, made }));
  await rm(fileIn(dataFolder), { force: true });
  await removeEmptyFolders(made);
}
