import { access, readFile, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { HoldfastError, invalidInput } from "../kernel/errors.ts";
import { mustBeOneOf } from "../kernel/nearest.ts";
import { agentTexts } from "./agent-texts.ts";
import type { ClientFile } from "./client-files.ts";
import { backUp, findBackups, readClientFile, removeEmptyFolders, replaceFile } from "./client-files.ts";
import type { ClientFolders, InstallScope } from "./client-folders.ts";
import { rootsOf, scopes } from "./client-folders.ts";
import type { AgentGuidance, Client, ClientName, Reach } from "./clients.ts";
import { clientNames, clients, serverEdit } from "./clients.ts";
import type { Edit } from "./edit.ts";
import { unusable } from "./edit.ts";
import { forgetInstallation, readMadeFolders, recordMadeFolders } from "./made-folders.ts";
import { reachOf, tokenNote } from "./reach.ts";
import type { Running } from "./server-launch.ts";
import { launchNote, serverLaunch, shellLine } from "./server-launch.ts";
import { textDiff } from "./text-diff.ts";

export interface ChangeRequest {
  readonly action: "install" | "uninstall";
  readonly client: string;
  readonly scope: string;
  /** The address of a running server; without it the client starts its own. */
  readonly http?: string;
  /** With an address: the variable that contains the token, or `none`; or a file that contains it. */
  readonly tokenEnv?: string;
  readonly tokenFile?: string;
  /** Leave out skills, hooks and instructions. */
  readonly serverOnly: boolean;
  /** Flags for the server that is started, and the subset that its hooks need. */
  readonly serverArgs: readonly string[];
  readonly hookArgs: readonly string[];
  /** The names of the tools that the server offers: texts for agents mention no others. */
  readonly tools: readonly string[];
}

export interface PlannedChange {
  readonly path: string;
  readonly what: string;
  readonly action: "create" | "change" | "delete";
  readonly diff: string;
}

export interface Plan {
  readonly client: string;
  readonly scope: string;
  /** Empty: nothing needs to change. */
  readonly changes: readonly PlannedChange[];
  readonly notes: readonly string[];
  /** Applies all changes or none. */
  apply(): Promise<{ readonly backups: readonly string[] }>;
}

interface FileChange extends PlannedChange {
  readonly file: ClientFile;
  /** Undefined: the file is deleted. */
  readonly after: string | undefined;
  /** Backups of earlier installations that are deleted with it. */
  readonly backups: readonly string[];
  readonly keepsBackup: boolean;
}

/** Reads every file and computes all changes, so that a file that cannot be edited is found before any other is changed. */
export async function planChange(request: ChangeRequest, folders: ClientFolders, running: Running, nowMs: number): Promise<Plan> {
  const name = requireClient(request.client);
  const client: Client = clients[name];
  const scope = requireScope(client, request.scope);
  const reach = reachOf(client, request, running, scope);
  const roots = rootsOf(folders, scope);
  const circumstances = { folders, scope, reach, running, roots };
  const planned = await editsOf(client, request, circumstances);
  const shared = request.action === "install" ? [] : await sharedEdits(name, planned, circumstances);
  const edits = planned.filter((edit) => !shared.some(({ path }) => path === edit.path));
  const found = await Promise.all(edits.map((edit) => (request.action === "install" ? planAdd(edit, roots) : planRemove(edit, roots))));
  const changes = found.filter((change) => change !== undefined);
  const installation = `${name} ${scope} ${scope === "user" ? folders.home : folders.project}`;
  return {
    client: client.title,
    scope,
    changes: changes.map(({ path, what, action, diff }) => ({ path, what, action, diff })),
    notes: [
      ...notesOf(client, request, reach, changes.length, scope === "user" ? await missingFolder(planned, folders) : undefined),
      ...shared.map(({ path, title }) => `${path} is kept: ${title} uses it too.`),
    ],
    apply: () => apply(changes, { scope, nowMs, dataFolder: folders.dataFolder, installation, action: request.action }),
  };
}

export function requireClient(name: string): ClientName {
  if (!Object.hasOwn(clients, name)) throw invalidInput("<client>", mustBeOneOf(name, clientNames));
  return name as ClientName;
}

export function requireScope({ title, files }: Client, scope: string): InstallScope {
  if (!(scopes as readonly string[]).includes(scope)) throw invalidInput("--scope", mustBeOneOf(scope, scopes));
  if (files[scope as InstallScope] === undefined) throw invalidInput("--scope", `${title} keeps its servers only in files of the ${Object.keys(files).join(" or ")}`);
  return scope as InstallScope;
}

interface Circumstances {
  readonly folders: ClientFolders;
  readonly scope: InstallScope;
  readonly reach: Reach;
  readonly running: Running;
  readonly roots: readonly string[];
}

async function editsOf(client: Client, { serverOnly, hookArgs, action, http, tools }: ChangeRequest, { folders, scope, reach, running, roots }: Circumstances): Promise<Edit[]> {
  const candidates = client.files[scope]?.(folders) ?? [];
  // Hooks write to the journal of a local store. With a remote server, or without a tool that reads the journal, their entries would never be read.
  const takesHooks = (http === undefined && (tools.includes("checkpoint") || tools.includes("resume"))) || action === "uninstall";
  const guidance: AgentGuidance = { ...agentTexts(tools), ...(takesHooks ? { hookCommand: (hook) => shellLine(serverLaunch(running, scope), ["hook", hook, ...hookArgs]) } : {}) };
  const beside = serverOnly && action === "install" ? [] : (client.beside[scope]?.(folders, guidance) ?? []);
  // A client may read several of its files, so entries that an earlier installation wrote to another one must be found too.
  const paths = action === "uninstall" ? candidates : [await pickFile(candidates, roots)];
  return [...paths.map((path) => serverEdit(client, path, reach)), ...beside];
}

/** Several clients read AGENTS.md: text that another installed client still needs is not removed. */
async function sharedEdits(name: ClientName, edits: readonly Edit[], circumstances: Circumstances): Promise<{ readonly path: string; readonly title: string }[]> {
  const { folders, scope, roots } = circumstances;
  const real = async (path: string): Promise<string> => (await readClientFile(path, roots)).realPath;
  const ours = new Map(await Promise.all(edits.map(async ({ path }) => [await real(path), path] as const)));
  const shared: { readonly path: string; readonly title: string }[] = [];
  for (const other of clientNames.filter((each) => each !== name)) {
    const client: Client = clients[other];
    const beside = client.beside[scope]?.(folders, agentTexts([])) ?? [];
    // A broken link of another client does not concern this one.
    const paths = (await Promise.all(beside.map(({ path }) => real(path).catch(() => "")))).flatMap((path) => ours.get(path) ?? []);
    if (paths.length > 0 && (await isSetUp(client, circumstances))) shared.push(...paths.map((path) => ({ path, title: client.title })));
  }
  return shared;
}

async function isSetUp(client: Client, { folders, scope, reach, roots }: Circumstances): Promise<boolean> {
  for (const path of client.files[scope]?.(folders) ?? []) {
    const { text } = await readClientFile(path, roots).catch(() => ({ text: undefined }));
    try {
      if (text !== undefined && serverEdit(client, path, reach).remove(text, undefined) !== text) return true;
    } catch {
      // The content cannot be parsed.
    }
  }
  return false;
}

async function pickFile(candidates: readonly string[], roots: readonly string[]): Promise<string> {
  for (const path of candidates) if ((await readClientFile(path, roots)).text !== undefined) return path;
  for (const path of candidates) if (await isThere(dirname(path))) return path;
  return candidates[0] as string;
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

async function planAdd(edit: Edit, roots: readonly string[]): Promise<FileChange | undefined> {
  const file = await readClientFile(edit.path, roots);
  const after = readable(edit.path, () => edit.add(file.text));
  if (after === file.text) return undefined;
  requireWritable(edit.path, file);
  const action = file.text === undefined ? "create" : after === undefined ? "delete" : "change";
  // A backup is kept even of a file that install created: the user may have edited it. Deleting a file also deletes its backups, as in uninstall.
  const backups = after === undefined ? await findBackups(file.realPath) : [];
  return { path: edit.path, what: edit.what, action, diff: textDiff(file.text, after), file, after, backups, keepsBackup: file.text !== undefined && after !== undefined };
}

/** The parsers of all formats are recursive, so a deeply nested file overflows the stack. */
function readable<Result>(path: string, edit: () => Result): Result {
  try {
    return edit();
  } catch (error) {
    throw error instanceof RangeError ? unusable(path, "is nested too deep to be read") : error;
  }
}

/** Replacing a read-only file would succeed, but it is what the owner wanted to prevent. */
export function requireWritable(path: string, { mode }: ClientFile): void {
  if (mode !== undefined && (mode & 0o222) === 0) throw unusable(path, "is read-only", "Make it writable, or change it by hand.");
}

async function planRemove(edit: Edit, roots: readonly string[]): Promise<FileChange | undefined> {
  const file = await readClientFile(edit.path, roots);
  const backups = await findBackups(file.realPath);
  if (file.text === undefined) return undefined;
  const before = await textBefore(edit, backups);
  const { text } = file;
  const after = readable(edit.path, () => withBytesOf(before, edit.remove(text, before)));
  if (after === file.text && backups.length === 0) return undefined;
  if (after !== file.text) requireWritable(edit.path, file);
  const action = after === undefined ? "delete" : "change";
  return { path: edit.path, what: edit.what, action, diff: textDiff(file.text, after), file, after, backups, keepsBackup: false };
}

/** The file before the first installation. A backup with only our part was made when an installation was changed, so it does not prove an earlier file. */
async function textBefore(edit: Edit, [oldest]: readonly string[]): Promise<string | undefined> {
  const text = oldest === undefined ? undefined : await readFile(oldest, "utf8");
  return text === undefined || edit.remove(text, undefined) === undefined ? undefined : text;
}

/** If the result differs from the earlier file only in white space, the earlier file is restored exactly. */
function withBytesOf(before: string | undefined, after: string | undefined): string | undefined {
  const squeezed = (text: string): string => text.replaceAll(/\s+/g, "");
  return before !== undefined && after !== undefined && squeezed(before) === squeezed(after) ? before : after;
}

/** The first of a client's folders if none of them exists, which means that the client is probably not installed. */
async function missingFolder(edits: readonly Edit[], { home }: ClientFolders): Promise<string | undefined> {
  const own = edits.map(({ path }) => dirname(path)).filter((folder) => folder !== home);
  for (const folder of own) if (await isThere(folder)) return undefined;
  return own[0];
}

function notesOf(client: Client, request: ChangeRequest, reach: Reach, count: number, missing: string | undefined): string[] {
  if (count === 0) return [];
  const { action, http, serverOnly } = request;
  if (action === "uninstall") return [];
  const hookless =
    http !== undefined && !serverOnly && client === clients["claude-code"]
      ? ["Hooks were left out, because they work with a store on this machine, not with a server elsewhere."]
      : [];
  const next = missing === undefined ? [client.next] : [`${client.title} does not seem to be installed: there was no ${missing}. It reads the files when it is.`];
  return [...tokenNote(client, request, reach), ...(reach.kind === "stdio" ? launchNote(reach.launch) : []), ...next, ...hookless];
}

interface Application {
  readonly scope: InstallScope;
  readonly nowMs: number;
  readonly dataFolder: string;
  readonly installation: string;
  readonly action: ChangeRequest["action"];
}

async function apply(changes: readonly FileChange[], { scope, nowMs, dataFolder, installation, action }: Application): Promise<{ backups: string[] }> {
  const stamp = new Date(nowMs).toISOString().replaceAll(/[-:]|\.\d+/g, "");
  const backups: string[] = [];
  const made: string[] = [...(await readMadeFolders(dataFolder, installation))];
  const newModes = scope === "user" ? { mode: 0o600, folderMode: 0o700 } : { mode: 0o644, folderMode: 0o755 };
  const done: FileChange[] = [];
  try {
    for (const change of changes) {
      await requireUnchanged(change);
      if (change.keepsBackup) backups.push(await backUp(change.file, stamp));
      done.push(change);
      if (change.after === undefined) await rm(change.file.realPath);
      else if (change.after !== change.file.text)
        made.push(...(await replaceFile(change.file.realPath, change.after, { ...newModes, ...(change.file.mode === undefined ? {} : { mode: change.file.mode }) })));
    }
  } catch (error) {
    await undo(done, backups, made, newModes);
    throw error instanceof HoldfastError ? error : writeFailure(error);
  }
  for (const path of changes.flatMap((change) => change.backups)) await rm(path, { force: true });
  if (action === "install") await recordMadeFolders(dataFolder, installation, [...new Set(made)]);
  else await forgetInstallation(dataFolder, installation);
  return { backups };
}

/** Clients write their own files at any time: the file must still be as it was when the plan was shown. */
export async function requireUnchanged({ path, file }: Pick<FileChange, "path" | "file">): Promise<void> {
  const now = await readFile(file.realPath, "utf8").catch(() => undefined);
  if (now !== file.text) throw new HoldfastError("conflict", `Another program changed ${path} in the meantime; nothing was changed.`, { hint: "Run the command again." });
}

async function undo(done: readonly FileChange[], backups: readonly string[], made: readonly string[], modes: { mode: number; folderMode: number }): Promise<void> {
  for (const { file } of done) {
    if (file.text === undefined) await rm(file.realPath, { force: true }).catch(() => {});
    else await replaceFile(file.realPath, file.text, { ...modes, mode: file.mode ?? modes.mode }).catch(() => {});
  }
  for (const path of backups) await rm(path, { force: true }).catch(() => {});
  await removeEmptyFolders(made);
}

export function writeFailure(cause: unknown): HoldfastError {
  const { code, path } = cause as NodeJS.ErrnoException;
  return new HoldfastError(code === "ENOSPC" ? "storage_full" : "unavailable", `${path ?? "A file"} could not be written (${code ?? "unknown reason"}); nothing was changed.`, {
    cause,
    hint: "Check that the folder is writable.",
  });
}
