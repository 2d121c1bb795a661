import type { InstallScope } from "./client-folders.ts";

/** How a client starts the server. */
export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
}

export interface Running {
  /** The Node that runs this command, and the real path of its script. */
  readonly execPath: string;
  readonly script: string;
  readonly platform: NodeJS.Platform;
}

/**
 * A checkout or a global installation stays where it is. Started by its path, it needs neither npm's start-up time nor a PATH, which
 * desktop applications often lack. Packages in npx's cache or in one project's node_modules may be gone tomorrow, and a project's
 * configuration is shared with other machines. There, the installed command is started by its name. Never npx: until the package is published,
 * anyone who takes the name in the registry could run code on those machines.
 */
export function serverLaunch({ execPath, script, platform }: Running, scope: InstallScope): Launch {
  const parts = script.split(/[\\/]/);
  const packaged = parts.includes("node_modules");
  const global = /[\\/](lib|npm)[\\/]node_modules[\\/]holdfast[\\/]/.test(script) && !parts.includes("_npx");
  if (!packaged || (global && scope === "user")) return { command: execPath, args: [script] };
  return installedLaunch(platform);
}

/** On Windows an installed command is a script, which only a shell can start. */
const installedLaunch = (platform: NodeJS.Platform): Launch => (platform === "win32" ? { command: "cmd", args: ["/c", "holdfast"] } : { command: "holdfast", args: [] });

/** What the user must know about a launch that depends on each machine's setup. */
export const launchNote = ({ command, args }: Launch): readonly string[] =>
  command === "holdfast" || (command === "cmd" && args[1] === "holdfast")
    ? [
        "The files start the command holdfast, which must be on the PATH of every machine that uses them: npm install --global from a checkout or a package file. The name is not published in the registry.",
      ]
    : [];

/** The same as one shell command line. */
export function shellLine({ command, args }: Launch, more: readonly string[]): string {
  const words = command === "cmd" && args[0] === "/c" ? args.slice(1) : [command, ...args];
  return [...words, ...more].map(shellWord).join(" ");
}

/** Double quotes mean the same in every shell a client may use, as long as nothing inside is special to one of them. */
const shellWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : /["$`\\!]/.test(word) && !/^[A-Za-z]:\\/.test(word) ? `'${word.replaceAll("'", `'\\''`)}'` : `"${word}"`;
