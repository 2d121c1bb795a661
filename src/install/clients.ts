import { join } from "node:path";
import type { AgentTexts } from "./agent-texts.ts";
import { skillFile, skillNames } from "./agent-texts.ts";
import type { ClientFolders, InstallScope } from "./client-folders.ts";
import { applicationFolder, configFolder } from "./client-folders.ts";
import type { Edit, EntryEdit, Insertion, Offered } from "./edit.ts";
import { withdrawn } from "./edit.ts";
import { claudeHooks, noClaudeHooks } from "./edit-hooks.ts";
import { jsonEntry } from "./edit-json.ts";
import { markedBlock, ownFile, withOwnership } from "./edit-text.ts";
import type { TomlEntry } from "./edit-toml.ts";
import { tomlTable } from "./edit-toml.ts";
import { yamlEntry } from "./edit-yaml.ts";
import type { Launch } from "./server-launch.ts";

export const serverName = "holdfast";

/** How the client reaches the server. */
export type Reach = { readonly kind: "stdio"; readonly launch: Launch } | { readonly kind: "http"; readonly url: string; readonly token?: TokenVariable | "none" };

/** The environment variable that contains the token; the secret itself is never written to a file. */
export interface TokenVariable {
  readonly name: string;
  /** The user named the variable, so it replaces what the entry sends already. */
  readonly isAsked: boolean;
}

/** What is installed beside a server that offers certain tools. */
export interface AgentGuidance extends AgentTexts {
  /** Undefined: no hooks, because there is no local store for them. */
  readonly hookCommand?: (hook: string) => string;
}

type Members = Readonly<Record<string, unknown>>;

export interface Client {
  /** The name shown to people. */
  readonly title: string;
  /** The possible files for the list of servers, by scope: the first that exists, otherwise the first whose folder exists, otherwise the first. */
  readonly files: Partial<Record<InstallScope, (folders: ClientFolders) => readonly string[]>>;
  /** Writes an entry to its place in that file. */
  readonly edit: (path: string, entry: Members, offered?: Offered<Members>, name?: string) => EntryEdit;
  /** The content of an entry. */
  readonly entry: (reach: Reach) => Members;
  /** False: the client's file cannot name a server by its address, so the client starts the bridge. */
  readonly takesHttp: boolean;
  /** How an entry refers to the variable with the token, if the client supports such references. */
  readonly bearer?: (variable: string) => Members;
  /** Where the variable must be set, if not where the client is started. */
  readonly variablesFrom?: string;
  /** Skills, hooks and instructions, installed beside the server. */
  readonly beside: Partial<Record<InstallScope, (folders: ClientFolders, guidance: AgentGuidance) => readonly Edit[]>>;
  /** The user's next step. */
  readonly next: string;
}

const what = "MCP server";
const json =
  (...keys: readonly string[]) =>
  (path: string, entry: Members, offered?: Offered<Members>, name = serverName): EntryEdit =>
    jsonEntry(path, what, [...keys, name], entry, offered);

/** A header with a reference to a variable, in the client's own syntax. */
const header =
  (reference: (variable: string) => string) =>
  (variable: string): Members => ({ headers: { Authorization: `Bearer ${reference(variable)}` } });
const inBraces = (variable: string): string => `\${${variable}}`;
const inEnvBraces = (variable: string): string => `\${env:${variable}}`;

const plainStdio = ({ command, args }: Launch) => ({ command, args });
const codeUserFolder = (folders: ClientFolders): string => join(applicationFolder(folders), "Code", "User");
const claudeFolder = ({ claudeFolder: moved, home }: ClientFolders): string => moved ?? join(home, ".claude");
const codexFolder = ({ codexFolder: moved, home }: ClientFolders): string => moved ?? join(home, ".codex");

/** A block in the user's own file, and a file that is entirely ours. */
const note = (path: string, { instructions }: AgentGuidance): Edit => toldOrNot(markedBlock(path, "instructions", instructions ?? ""), instructions);
const rule = (path: string, { instructions }: AgentGuidance, frontMatter = ""): Edit =>
  toldOrNot(ownFile(path, "instructions", withOwnership(`${frontMatter}${instructions ?? ""}`)), instructions);
const toldOrNot = (edit: Insertion, instructions: string | undefined): Edit => (instructions === undefined ? withdrawn(edit) : edit);
const agentsFile = ({ project }: ClientFolders, guidance: AgentGuidance): readonly Edit[] => [note(join(project, "AGENTS.md"), guidance)];

const claudeBeside = (folder: string, { hookCommand, skills }: AgentGuidance): readonly Edit[] => [
  hookCommand === undefined ? noClaudeHooks(join(folder, "settings.json")) : claudeHooks(join(folder, "settings.json"), hookCommand),
  ...skillNames.map((name) => {
    const skill = skills.find((each) => each.name === name);
    // With a prefix: the user may already have a skill called checkpoint.
    const path = join(folder, "skills", `${serverName}-${name}`, "SKILL.md");
    const what = `skill ${name}`;
    return skill === undefined ? withdrawn(ownFile(path, what, "")) : ownFile(path, what, withOwnership(skillFile(skill, `${serverName}-`)));
  }),
];

/** Every client: where its files are and how it writes a server. docs/clients.md describes the same in words. */
export const clients = {
  "claude-code": {
    title: "Claude Code",
    files: {
      user: ({ claudeFolder: moved, home }) => [join(moved ?? home, ".claude.json")],
      project: ({ project }) => [join(project, ".mcp.json")],
    },
    edit: json("mcpServers"),
    entry: (reach) => (reach.kind === "stdio" ? { type: "stdio", ...plainStdio(reach.launch) } : { type: "http", url: reach.url }),
    takesHttp: true,
    bearer: header(inBraces),
    beside: {
      user: (folders, guidance) => claudeBeside(claudeFolder(folders), guidance),
      project: ({ project }, guidance) => claudeBeside(join(project, ".claude"), guidance),
    },
    next: "Start a new Claude Code session; /mcp shows the server. A project's server asks for approval once.",
  },
  "claude-desktop": {
    title: "Claude Desktop",
    files: { user: (folders) => [join(applicationFolder(folders), "Claude", "claude_desktop_config.json")] },
    edit: json("mcpServers"),
    // This client never gets an address.
    entry: (reach) => (reach.kind === "stdio" ? plainStdio(reach.launch) : {}),
    takesHttp: false,
    beside: {},
    next: "Quit Claude Desktop and start it again.",
  },
  cursor: {
    title: "Cursor",
    files: { user: ({ home }) => [join(home, ".cursor", "mcp.json")], project: ({ project }) => [join(project, ".cursor", "mcp.json")] },
    edit: json("mcpServers"),
    entry: (reach) => (reach.kind === "stdio" ? plainStdio(reach.launch) : { url: reach.url }),
    takesHttp: true,
    bearer: header(inEnvBraces),
    beside: {
      project: ({ project }, guidance) => [
        rule(join(project, ".cursor", "rules", "holdfast.mdc"), guidance, "---\ndescription: Memory and coordination with Holdfast\nalwaysApply: true\n---\n\n"),
      ],
    },
    next: "Switch the server on in Cursor's settings, under MCP.",
  },
  vscode: {
    title: "VS Code",
    files: { user: (folders) => [join(codeUserFolder(folders), "mcp.json")], project: ({ project }) => [join(project, ".vscode", "mcp.json")] },
    edit: json("servers"),
    entry: (reach) => (reach.kind === "stdio" ? { type: "stdio", ...plainStdio(reach.launch) } : { type: "http", url: reach.url }),
    takesHttp: true,
    bearer: header(inEnvBraces),
    beside: {
      user: (folders, guidance) => [rule(join(codeUserFolder(folders), "prompts", "holdfast.instructions.md"), guidance, '---\napplyTo: "**"\n---\n\n')],
      project: ({ project }, guidance) => [rule(join(project, ".github", "instructions", "holdfast.instructions.md"), guidance, '---\napplyTo: "**"\n---\n\n')],
    },
    next: "Run “MCP: List Servers” and start holdfast.",
  },
  windsurf: {
    title: "Windsurf",
    files: { user: ({ home }) => [join(home, ".codeium", "windsurf", "mcp_config.json")] },
    edit: json("mcpServers"),
    entry: (reach) => (reach.kind === "stdio" ? plainStdio(reach.launch) : { serverUrl: reach.url }),
    takesHttp: true,
    bearer: header(inEnvBraces),
    beside: { user: ({ home }, guidance) => [note(join(home, ".codeium", "windsurf", "memories", "global_rules.md"), guidance)] },
    next: "Refresh the MCP servers in Cascade's settings.",
  },
  codex: {
    title: "Codex",
    files: { user: (folders) => [join(codexFolder(folders), "config.toml")], project: ({ project }) => [join(project, ".codex", "config.toml")] },
    edit: (path, entry, offered, name = serverName) => tomlTable(path, what, ["mcp_servers", name], entry as TomlEntry, offered as Offered<TomlEntry> | undefined),
    entry: (reach) => (reach.kind === "stdio" ? plainStdio(reach.launch) : { url: reach.url }),
    takesHttp: true,
    bearer: (variable) => ({ bearer_token_env_var: variable }),
    beside: { user: (folders, guidance) => [note(join(codexFolder(folders), "AGENTS.md"), guidance)], project: agentsFile },
    next: "Start Codex again. It reads a project's configuration only where the project is trusted.",
  },
  gemini: {
    title: "Gemini CLI",
    files: { user: ({ home }) => [join(home, ".gemini", "settings.json")], project: ({ project }) => [join(project, ".gemini", "settings.json")] },
    edit: json("mcpServers"),
    entry: (reach) => (reach.kind === "stdio" ? plainStdio(reach.launch) : { httpUrl: reach.url }),
    takesHttp: true,
    bearer: header(inBraces),
    beside: {
      user: ({ home }, guidance) => [note(join(home, ".gemini", "GEMINI.md"), guidance)],
      project: ({ project }, guidance) => [note(join(project, "GEMINI.md"), guidance)],
    },
    next: "Start Gemini CLI again; /mcp shows the server. It starts servers in trusted folders only.",
  },
  opencode: {
    title: "opencode",
    files: {
      user: (folders) => ["opencode.json", "opencode.jsonc"].map((name) => join(configFolder(folders), "opencode", name)),
      project: ({ project }) => ["opencode.json", "opencode.jsonc"].map((name) => join(project, name)),
    },
    edit: json("mcp"),
    entry: (reach) =>
      reach.kind === "stdio" ? { type: "local", command: [reach.launch.command, ...reach.launch.args], enabled: true } : { type: "remote", url: reach.url, enabled: true },
    takesHttp: true,
    bearer: header((variable) => `{env:${variable}}`),
    beside: { user: (folders, guidance) => [note(join(configFolder(folders), "opencode", "AGENTS.md"), guidance)], project: agentsFile },
    next: "Start opencode again.",
  },
  continue: {
    title: "Continue",
    files: { user: ({ home }) => [join(home, ".continue", "config.yaml")], project: ({ project }) => [join(project, ".continue", "mcpServers", "holdfast.yaml")] },
    edit: (path, entry, offered, name = serverName) =>
      yamlEntry(
        path,
        what,
        { key: "mcpServers", name, holds: "list", preamble: { name: path.endsWith("config.yaml") ? "Local Config" : "Holdfast", version: "1.0.0", schema: "v1" } },
        entry,
        offered,
      ),
    entry: (reach) => (reach.kind === "stdio" ? plainStdio(reach.launch) : { type: "streamable-http", url: reach.url }),
    takesHttp: true,
    bearer: (variable) => ({ requestOptions: header((name) => `\${{ secrets.${name} }}`)(variable) }),
    variablesFrom: "in ~/.continue/.env",
    beside: {
      user: ({ home }, guidance) => [rule(join(home, ".continue", "rules", "holdfast.md"), guidance)],
      project: ({ project }, guidance) => [rule(join(project, ".continue", "rules", "holdfast.md"), guidance)],
    },
    next: "Reload Continue's configuration; MCP tools work in agent mode.",
  },
  zed: {
    title: "Zed",
    files: {
      user: (folders) => [join(folders.platform === "win32" ? applicationFolder(folders) : configFolder(folders), folders.platform === "win32" ? "Zed" : "zed", "settings.json")],
      project: ({ project }) => [join(project, ".zed", "settings.json")],
    },
    edit: json("context_servers"),
    entry: (reach) => (reach.kind === "stdio" ? plainStdio(reach.launch) : { url: reach.url }),
    takesHttp: true,
    beside: { project: agentsFile },
    next: "Zed reads the change at once; the Agent Panel's settings show the server.",
  },
  cline: {
    title: "Cline",
    files: {
      user: (folders) => [
        join(codeUserFolder(folders), "globalStorage", "saoudrizwan.claude-dev", "settings", "cline_mcp_settings.json"),
        join(folders.home, ".cline", "data", "settings", "cline_mcp_settings.json"),
      ],
    },
    edit: json("mcpServers"),
    entry: (reach) => ({ ...(reach.kind === "stdio" ? plainStdio(reach.launch) : { type: "streamableHttp", url: reach.url }), disabled: false }),
    takesHttp: true,
    bearer: header(inEnvBraces),
    beside: { user: ({ home }, guidance) => [rule(join(home, "Documents", "Cline", "Rules", "holdfast.md"), guidance)] },
    next: "The MCP Servers view in Cline shows the server.",
  },
  hermes: {
    title: "Hermes",
    files: { user: ({ hermesFolder, home }) => [join(hermesFolder ?? join(home, ".hermes"), "config.yaml")] },
    edit: (path, entry, offered, name = serverName) => yamlEntry(path, what, { key: "mcp_servers", name, holds: "map" }, entry, offered),
    entry: (reach) => (reach.kind === "stdio" ? plainStdio(reach.launch) : { url: reach.url }),
    takesHttp: true,
    bearer: header(inBraces),
    beside: {},
    next: "Start Hermes again.",
  },
  copilot: {
    title: "Copilot CLI",
    files: { user: ({ home }) => [join(home, ".copilot", "mcp-config.json")], project: ({ project }) => [join(project, ".github", "mcp.json")] },
    edit: json("mcpServers"),
    entry: (reach) => ({ ...(reach.kind === "stdio" ? { type: "local", ...plainStdio(reach.launch) } : { type: "http", url: reach.url }), tools: ["*"] }),
    takesHttp: true,
    bearer: header(inBraces),
    beside: { user: ({ home }, guidance) => [note(join(home, ".copilot", "copilot-instructions.md"), guidance)], project: agentsFile },
    next: "Start Copilot CLI again; /mcp show lists the server.",
  },
  qwen: {
    title: "Qwen Code",
    files: { user: ({ home }) => [join(home, ".qwen", "settings.json")], project: ({ project }) => [join(project, ".qwen", "settings.json")] },
    edit: json("mcpServers"),
    entry: (reach) => (reach.kind === "stdio" ? plainStdio(reach.launch) : { httpUrl: reach.url }),
    takesHttp: true,
    bearer: header(inBraces),
    beside: { user: ({ home }, guidance) => [note(join(home, ".qwen", "QWEN.md"), guidance)], project: ({ project }, guidance) => [note(join(project, "QWEN.md"), guidance)] },
    next: "Start Qwen Code again; /mcp shows the server.",
  },
  amp: {
    title: "Amp",
    files: { user: (folders) => [join(configFolder(folders), "amp", "settings.json")], project: ({ project }) => [join(project, ".amp", "settings.json")] },
    // One key with a dot in its name, not nested objects.
    edit: json("amp.mcpServers"),
    entry: (reach) => (reach.kind === "stdio" ? plainStdio(reach.launch) : { url: reach.url }),
    takesHttp: true,
    bearer: header(inBraces),
    beside: { user: (folders, guidance) => [note(join(configFolder(folders), "amp", "AGENTS.md"), guidance)], project: agentsFile },
    next: "Start Amp again. It asks once before it runs a project's servers.",
  },
  crush: {
    title: "Crush",
    files: {
      user: (folders) => [join(configFolder(folders), "crush", "crush.json")],
      project: ({ project }) => ["crush.json", ".crush.json"].map((name) => join(project, name)),
    },
    edit: json("mcp"),
    entry: (reach) => (reach.kind === "stdio" ? { type: "stdio", ...plainStdio(reach.launch) } : { type: "http", url: reach.url }),
    takesHttp: true,
    bearer: header((variable) => `$${variable}`),
    beside: { project: agentsFile },
    next: "Start Crush again.",
  },
  goose: {
    title: "Goose",
    files: {
      user: (folders) => [
        folders.platform === "win32" ? join(applicationFolder(folders), "Block", "goose", "config", "config.yaml") : join(configFolder(folders), "goose", "config.yaml"),
      ],
    },
    edit: (path, entry, offered, name = serverName) => yamlEntry(path, what, { key: "extensions", name, holds: "map" }, entry, offered),
    entry: (reach) => ({
      enabled: true,
      name: serverName,
      ...(reach.kind === "stdio" ? { type: "stdio", cmd: reach.launch.command, args: reach.launch.args } : { type: "streamable_http", uri: reach.url }),
      timeout: 300,
    }),
    takesHttp: true,
    beside: {},
    next: "Start Goose again.",
  },
  kiro: {
    title: "Kiro",
    files: { user: ({ home }) => [join(home, ".kiro", "settings", "mcp.json")], project: ({ project }) => [join(project, ".kiro", "settings", "mcp.json")] },
    edit: json("mcpServers"),
    entry: (reach) => ({ ...(reach.kind === "stdio" ? plainStdio(reach.launch) : { url: reach.url }), disabled: false }),
    takesHttp: true,
    bearer: header(inBraces),
    beside: {
      user: ({ home }, guidance) => [rule(join(home, ".kiro", "steering", "holdfast.md"), guidance, "---\ninclusion: always\n---\n\n")],
      project: ({ project }, guidance) => [rule(join(project, ".kiro", "steering", "holdfast.md"), guidance, "---\ninclusion: always\n---\n\n")],
    },
    next: "Kiro connects to the server when the file is saved; its MCP panel shows it.",
  },
} as const satisfies Record<string, Client>;

export type ClientName = keyof typeof clients;
export const clientNames = Object.keys(clients) as readonly ClientName[];

/** The server's entry in one of the client's files. */
export function serverEdit({ edit, entry, bearer }: Client, path: string, reach: Reach): Edit {
  const token = reach.kind === "http" ? reach.token : undefined;
  if (token === undefined || token === "none") return edit(path, entry(reach), token);
  const reference = bearer?.(token.name);
  return token.isAsked ? edit(path, { ...entry(reach), ...reference }) : edit(path, entry(reach), reference);
}
