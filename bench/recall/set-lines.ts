import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Line numbers and lines, without empty lines and comments. */
export const setLines = (folder: string, file: string): [number, string][] =>
  readFileSync(join(folder, file), "utf8")
    .split("\n")
    .map((line, i): [number, string] => [i + 1, line.trim()])
    .filter(([, line]) => line !== "" && !line.startsWith("#"));
