import { basename } from "node:path";
import type { ServerFacts } from "./tool.ts";

/** Callers on other machines are told a file's name: where it lies on the server is nothing they can use. */
export const visiblePath = <Path extends string | null>({ tellsOf }: Pick<ServerFacts, "tellsOf">, path: Path): Path =>
  tellsOf === undefined || path === null ? path : (basename(path) as Path);
