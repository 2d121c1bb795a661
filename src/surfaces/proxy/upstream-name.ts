import { basename, resolve } from "node:path";
import { fingerprint } from "../../kernel/json.ts";
import type { CredentialOptions } from "../connect/credential.ts";

/**
 * The name of a server in the records, for a proxy that was started without one. Two servers must not share a name: the second would get the first one's
 * answers. Everything that may hold a secret is in the name as part of a digest only.
 */

/** The last word of variables that say which account, service or data a server works with. */
const telling = new Set(
  "TOKEN KEY SECRET PASSWORD CREDENTIALS URL URI DSN HOST ENDPOINT USER ACCOUNT PROFILE PROJECT TENANT WORKSPACE ORG ORGANIZATION TEAM REGION DATABASE ENV ENVIRONMENT STAGE".split(
    " ",
  ),
);
/** These differ between two terminals, or belong to Holdfast itself: with them, a restart would find none of its records. */
const ofSession = /^(?:USER$|HOLDFAST_|SSH_|XDG_|ITERM_|TERM_|VSCODE_)|SESSION/;

const isTelling = (variable: string): boolean => telling.has(variable.slice(variable.lastIndexOf("_") + 1)) && !ofSession.test(variable);

const digest = (value: Parameters<typeof fingerprint>[0]): string => fingerprint(value).slice(0, 8);

export function nameOfCommand(command: string, args: readonly string[], folder: string, env: NodeJS.ProcessEnv): string {
  const settings = Object.entries(env).flatMap(([variable, value]) => (value !== undefined && isTelling(variable) ? [[variable, value]] : []));
  return `${basename(command)}-${digest([command, ...args, folder, settings.sort(([a = ""], [b = ""]) => (a < b ? -1 : 1))])}`;
}

/** A token from a file counts by the file: such tokens are replaced while their account stays the same. */
export function nameOfAddress(url: URL, { token, tokenFile }: CredentialOptions): string {
  const credential = tokenFile === undefined ? token : `file:${resolve(tokenFile)}`;
  return `${url.host}${url.pathname}${credential === undefined ? "" : `-${digest(credential)}`}`;
}
