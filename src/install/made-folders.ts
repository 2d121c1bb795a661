import { existsSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { removeEmptyFolders, replaceFile } from "./client-files.ts";

/** The folders that installations created, so that uninstalling removes only those. Without the record, folders stay. */
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

/** The record lists the folders created for itself under this name. */
const own = "";

export async function recordMadeFolders(dataFolder: string, installation: string, folders: readonly string[]): Promise<void> {
  // Also recorded if it created none: it may use folders that another installation created.
  const after = { ...(await read(dataFolder)), [installation]: folders };
  const madeNow = await write(dataFolder, after);
  if (madeNow.length > 0) await write(dataFolder, { ...after, [own]: madeNow });
}

/**
 * Removes the folders that the installation created, if they are empty. Folders that remain are assigned to another installation,
 * which may be using them; the last one to be uninstalled removes them. The record is deleted with the last installation.
 */
export async function forgetInstallation(dataFolder: string, installation: string): Promise<void> {
  const { [installation]: folders, ...others } = await read(dataFolder);
  if (folders === undefined) return;
  await removeEmptyFolders(folders);
  const left = folders.filter((folder) => existsSync(folder));
  const heir = Object.keys(others).find((name) => name !== own);
  if (heir !== undefined) {
    await write(dataFolder, { ...others, [heir]: [...new Set([...(others[heir] ?? []), ...left])] });
    return;
  }
  await rm(fileIn(dataFolder), { force: true });
  await removeEmptyFolders(others[own] ?? []);
}

const write = (dataFolder: string, made: Made): Promise<readonly string[]> =>
  replaceFile(fileIn(dataFolder), `${JSON.stringify(made, null, 2)}\n`, { mode: 0o600, folderMode: 0o700 });
