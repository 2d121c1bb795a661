import { join } from "node:path";

/** Whose files: the user's own, or those of the project in the current folder. */
export type InstallScope = "user" | "project";
export const scopes = ["user", "project"] as const satisfies readonly InstallScope[];

/** This machine's folders. `config.ts` fills them in; tests pass their own. */
export interface ClientFolders {
  readonly home: string;
  /** The folder the command was started in. */
  readonly project: string;
  readonly platform: NodeJS.Platform;
  /** Set by the user to move a client's files: CLAUDE_CONFIG_DIR, CODEX_HOME, HERMES_HOME, XDG_CONFIG_HOME, APPDATA. */
  readonly claudeFolder?: string;
  readonly codexFolder?: string;
  readonly hermesFolder?: string;
  readonly xdgConfigFolder?: string;
  readonly appDataFolder?: string;
  /** Where Holdfast records which folders it created. */
  readonly dataFolder: string;
}

/** A file outside these folders is never touched. */
export function rootsOf(folders: ClientFolders, scope: InstallScope): readonly string[] {
  if (scope === "project") return [folders.project];
  const moved = [folders.claudeFolder, folders.codexFolder, folders.hermesFolder, folders.xdgConfigFolder, folders.appDataFolder];
  return [folders.home, ...moved.filter((folder) => folder !== undefined)];
}

/** Where desktop applications keep their settings on this platform. */
export function applicationFolder({ platform, home, appDataFolder, xdgConfigFolder }: ClientFolders): string {
  if (platform === "darwin") return join(home, "Library", "Application Support");
  if (platform === "win32") return appDataFolder ?? join(home, "AppData", "Roaming");
  return xdgConfigFolder ?? join(home, ".config");
}

/** `~/.config`, also on macOS, because terminal programs read it there. */
export const configFolder = ({ home, xdgConfigFolder }: ClientFolders): string => xdgConfigFolder ?? join(home, ".config");
