import { basename } from "node:path";
import type { ServerFacts } from "./tool.ts";

/** Callers on other machines get only the file's name, because they cannot use a path on the server. */
export const visiblePath = <Path extends string | null>({ tellsOf }: Pick<ServerFacts, "tellsOf">, path: Path): Path =>
  tellsOf === undefined || path === null ? path : (basename(path) as Path);
