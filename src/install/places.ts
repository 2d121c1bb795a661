import { join } from "node:path";

/** Whose files: the user's own, or those of the project in the current folder. */
export type Scope = "user" | "project";
export const scopes = ["user", "project"] as const satisfies readonly Scope[];

/** Where this machine keeps things; `config.ts` fills it in, tests give their own. */
export interface Places {
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
  /** Where Holdfast remembers which folders it made. */
  readonly dataFolder: string;
}

/** A file outside these folders is never touched. */
export function rootsOf(places: Places, scope: Scope): readonly string[] {
  if (scope === "project") return [places.project];
  const moved = [places.claudeFolder, places.codexFolder, places.hermesFolder, places.xdgConfigFolder, places.appDataFolder];
  return [places.home, ...moved.filter((folder) => folder !== undefined)];
}

/** Where desktop programs keep their settings on this platform. */
export function applicationFolder({ platform, home, appDataFolder, xdgConfigFolder }: Places): string {
  if (platform === "darwin") return join(home, "Library", "Application Support");
  if (platform === "win32") return appDataFolder ?? join(home, "AppData", "Roaming");
  return xdgConfigFolder ?? join(home, ".config");
}

/** `~/.config`, also on macOS: that is where terminal programs look. */
export const configFolder = ({ home, xdgConfigFolder }: Places): string => xdgConfigFolder ?? join(home, ".config");
