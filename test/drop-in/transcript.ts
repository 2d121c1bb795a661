import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** One tool call, and what the original answered; exactly one of the four kinds of answers is there. */
export interface Call {
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Fields of the answer that later arguments refer to as `$NAME`. */
  readonly keep?: Readonly<Record<string, string>>;
  readonly answer?: unknown;
  readonly text?: string;
  readonly isError?: true;
  /** It answered without an error; what it said is not recorded. */
  readonly answered?: true;
}

/** `tools/list` as parameters by tool, `resources/list` as URIs. */
export interface Listing {
  readonly method: "tools/list" | "resources/list";
  readonly answer: unknown;
}

export type Exchange = Call | Listing | { readonly waitSeconds: number } | { readonly race: readonly [Call, Call, Call] };

/** What an original was asked and what it answered, before any of it is compared. */
export interface Transcript {
  readonly original: string;
  readonly version: string;
  readonly profile: string;
  /** How the answers came about. */
  readonly recorded: string;
  readonly exchanges: readonly Exchange[];
}

const folder = fileURLToPath(new URL("./transcripts/", import.meta.url));

export const transcripts: readonly Transcript[] = readdirSync(folder)
  .sort()
  .map((name) => JSON.parse(readFileSync(`${folder}${name}`, "utf8")) as Transcript);
