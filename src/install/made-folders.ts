import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { removeEmptyFolders, replaceFile } from "./client-files.ts";

/** Which folders installations made, so that uninstalling takes away those and no others. Without the record, folders stay. */
type Made = Record<string, readonly string[]>;

const fileIn = (dataFolder: string): string => join(dataFolder, "installed.json");

async function read(dataFolder: string): Promise<Made> {
  try {
    const made: unknown = JSON.parse(await readFile(fileIn(dataFolder), "utf8"));
    return typeof made === "object" && made !== null ? (made as Made) : {};
  } catch {
    return {};
  }
}

export const readMadeFolders = async (dataFolder: string, installation: string): Promise<readonly string[]> => {
  const folders = (await read(dataFolder))[installation];
  return Array.isArray(folders) ? folders.filter((folder) => typeof folder === "string") : [];
};

/** The record's own folders stand in it under this name. */
const own = "";

/** An empty list forgets the installation; the record goes with the last one. */
export async function recordMadeFolders(dataFolder: string, installation: string, folders: readonly string[]): Promise<void> {
  const { [installation]: before, ...others } = await read(dataFolder);
  const made: Made = folders.length === 0 ? others : { ...others, [installation]: folders };
  if (Object.keys(made).some((name) => name !== own)) {
    const madeNow = await write(dataFolder, made);
    if (madeNow.length > 0) await write(dataFolder, { ...made, [own]: madeNow });
  } else if (before !== undefined) {
    await rm(fileIn(dataFolder), { force: true });
    await removeEmptyFolders(made[own] ?? []);
  }
}

const write = (dataFolder: string, made: Made): Promise<readonly string[]> =>
  replaceFile(fileIn(dataFolder), `${JSON.stringify(made, null, 2)}\n`, { mode: 0o600, folderMode: 0o700 });
