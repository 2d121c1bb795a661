import { HoldfastError, invalidInput } from "../kernel/errors.ts";
import { canonicalJson } from "../kernel/json.ts";
import { quotedName } from "../kernel/nearest.ts";
import type { ClientFile } from "./client-files.ts";
import { readClientFile, replaceFile } from "./client-files.ts";
import type { ClientFolders, InstallScope } from "./client-folders.ts";
import { rootsOf } from "./client-folders.ts";
import type { Client } from "./clients.ts";
import { clientNames, clients, serverName } from "./clients.ts";
import type { FoundEntry } from "./edit.ts";
import { unusable } from "./edit.ts";
import type { Plan, PlannedChange } from "./plan-change.ts";
import { requireClient, requireScope, requireUnchanged, requireWritable, writeFailure } from "./plan-change.ts";
import type { Running } from "./server-launch.ts";
import { launchNote, serverLaunch } from "./server-launch.ts";
import { textDiff } from "./text-diff.ts";
import type { WrappedText } from "./wrap-record.ts";
import { forgetWrapped, readWrapped, recordWrapped } from "./wrap-record.ts";
import { entryReach, proxyWords, reachMembers, unwrappedReach } from "./wrapped-entry.ts";

export interface WrapRequest {
  readonly action: "install" | "uninstall";
  /** The server's name in the client's file. */
  readonly server: string;
  /** Undefined: every client that has such a server. */
  readonly client?: string;
  readonly scope: string;
  /** Flags for the proxy's store. `tokenFile` is a file with the token of a server on the network. */
  readonly serverArgs: readonly string[];
  readonly tokenFile?: string;
}

interface WrapChange extends PlannedChange {
  readonly client: string;
  readonly file: ClientFile;
  readonly after: string;
  /** Set if the change wraps an entry. */
  readonly wrapped?: WrappedText;
}

/** Plans to put the proxy in front of a client's server, or to remove it. Removing restores the entry byte for byte, unless it was edited meanwhile. */
export async function planWrap(request: WrapRequest, folders: ClientFolders, running: Running): Promise<Plan> {
  const { action, server } = request;
  if (server === serverName && action === "install") throw invalidInput("--wrap", `${quotedName(server)} is Holdfast itself`);
  const names = request.client === undefined ? clientNames : [requireClient(request.client)];
  const changes: WrapChange[] = [];
  let found = 0;
  for (const name of names) {
    const client: Client = clients[name];
    if (request.client === undefined && client.files[request.scope as InstallScope] === undefined) continue;
    const scope = requireScope(client, request.scope);
    for (const path of client.files[scope]?.(folders) ?? []) {
      const planned = await planFile({ client, path, scope }, request, folders, running);
      if (planned === undefined) continue;
      found += 1;
      if (planned !== "as asked") changes.push(planned);
    }
  }
  if (found === 0)
    throw new HoldfastError("not_found", `--wrap: no server ${quotedName(server)} in the ${request.scope} files of ${request.client ?? "any client"}; nothing was changed`, {
      hint: "Give the name under which the client lists the server, and --scope project for a project's own file.",
      details: { field: "--wrap" },
    });
  const { dataFolder } = folders;
  return {
    client: [...new Set(changes.map(({ client }) => client))].join(", ") || server,
    scope: request.scope,
    changes: changes.map(({ path, what, action: verb, diff }) => ({ path, what, action: verb, diff })),
    notes:
      changes.length === 0
        ? []
        : [...(action === "install" ? launchNote(serverLaunch(running, request.scope as InstallScope)) : []), "Start the client again, or let it reconnect to the server."],
    apply: () => apply(changes, server, dataFolder),
  };
}

interface ServerPlace {
  readonly client: Client;
  readonly path: string;
  readonly scope: InstallScope;
}

/** Undefined if the file lists no such server. */
async function planFile({ client, path, scope }: ServerPlace, request: WrapRequest, folders: ClientFolders, running: Running): Promise<WrapChange | "as asked" | undefined> {
  const { action, server } = request;
  const file = await readClientFile(path, rootsOf(folders, scope));
  const { text } = file;
  const found = text === undefined ? undefined : client.edit(path, {}, undefined, server).find(text);
  if (text === undefined || found === undefined) return undefined;
  const bare = unwrappedReach(entryReach(found.value), server);
  if ((bare !== undefined) === (action === "install")) return "as asked";
  const after = action === "install" ? wrap(text, found) : await unwrap(text, found);
  requireWritable(path, file);
  const again = client.edit(path, {}, undefined, server).find(after);
  const wrapped = action === "install" && again !== undefined ? { original: text.slice(found.start, found.end), wrapped: after.slice(again.start, again.end) } : undefined;
  return { client: client.title, path, what: `MCP server ${server}`, action: "change", diff: textDiff(text, after), file, after, wrapped };

  function wrap(before: string, { value }: FoundEntry): string {
    const reach = entryReach(value);
    if (reach === undefined) throw unusable(path, `the entry of ${server} names neither a command nor an address`);
    if (reach.kind === "http" && reach.sendsHeaders && request.tokenFile === undefined)
      throw unusable(
        path,
        `the entry of ${server} sends headers, which the proxy does not pass on`,
        "If the only header is a bearer token, put the token into a file that only you can read and pass --token-file FILE. Other headers would be left out.",
      );
    const { command, args } = serverLaunch(running, scope);
    const settings = [...request.serverArgs, ...(request.tokenFile === undefined ? [] : ["--token-file", request.tokenFile])];
    const words = [command, ...args, ...proxyWords(server, settings, reach)];
    const members = reachMembers(client, value, { kind: "stdio", words, form: reach.kind === "stdio" ? reach.form : "command and args" });
    return withEntry(before, members);
  }

  async function unwrap(before: string, { value, start, end }: FoundEntry): Promise<string> {
    const known = await readWrapped(folders.dataFolder, file.realPath, server);
    if (known !== undefined && known.wrapped === before.slice(start, end)) return before.slice(0, start) + known.original + before.slice(end);
    // The entry was edited, or its record is gone: the original is derived from the wrapped command line.
    return withEntry(before, reachMembers(client, value, bare as NonNullable<typeof bare>));
  }

  /** Copies only the entry's text from the edited file, because the editor may reformat the text around it. */
  function withEntry(before: string, members: Readonly<Record<string, unknown>>): string {
    const edit = client.edit(path, members, undefined, server);
    const edited = edit.add(before);
    const [old, now] = [edit.find(before), edit.find(edited)];
    const spliced = old && now && before.slice(0, old.start) + edited.slice(now.start, now.end) + before.slice(old.end);
    return spliced !== undefined && canonicalJson(edit.find(spliced)?.value) === canonicalJson(now?.value) ? spliced : edited;
  }
}

async function apply(changes: readonly WrapChange[], server: string, dataFolder: string): Promise<{ backups: string[] }> {
  const done: WrapChange[] = [];
  try {
    for (const change of changes) {
      await requireUnchanged(change);
      const { file, after, wrapped } = change;
      // The record is written first: without it, the entry could be restored, but not byte for byte.
      if (wrapped !== undefined) await recordWrapped(dataFolder, file.realPath, server, wrapped);
      done.push(change);
      await replaceFile(file.realPath, after, { mode: file.mode ?? 0o600, folderMode: 0o700 });
    }
  } catch (error) {
    for (const { file, wrapped } of done) {
      await replaceFile(file.realPath, file.text ?? "", { mode: file.mode ?? 0o600, folderMode: 0o700 }).catch(() => {});
      if (wrapped !== undefined) await forgetWrapped(dataFolder, file.realPath, server).catch(() => {});
    }
    throw error instanceof HoldfastError ? error : writeFailure(error);
  }
  for (const { file, wrapped } of changes) if (wrapped === undefined) await forgetWrapped(dataFolder, file.realPath, server);
  return { backups: [] };
}
