import { catalog } from "../../tools/catalog.ts";
import type { Tool } from "../../tools/tool.ts";
import { commandPath } from "./command-path.ts";
import { agentProperties, parametersOf } from "./parameters.ts";

/** The command of each tool, by the tool's name. Names without an underscore are left out: they may be ordinary words. */
const commandOfTool: ReadonlyMap<string, string> = new Map(catalog.filter(({ name }) => name.includes("_")).map((tool) => [tool.name, `holdfast ${commandPath(tool).join(" ")}`]));

/**
 * Rewrites a tool's error for the command line: `expected_version` becomes `--expected-version`, `sidecar_health` becomes
 * `holdfast health`. A name without an underscore may be an ordinary word, so it is only replaced where it names a field.
 */
export function inCliWords(tool: Tool, text: string): string {
  const parameters = new Map(parametersOf(tool).map(({ property, flag }) => [property, tool.positional.includes(property) ? `<${property}>` : `--${flag}`]));
  for (const property of agentProperties) parameters.set(property, "--agent");
  return text
    .replaceAll(/(?<![\w/<-])[a-z]+(?:_[a-z]+)+(?![\w>])/g, (word) => parameters.get(word) ?? commandOfTool.get(word) ?? word)
    .replaceAll(/^([A-Za-z]+)(?=[:.[])/gm, (word) => parameters.get(word) ?? word);
}

/** A tool's argument error ends with a list of its arguments; on the command line, `--help` shows them. */
export function hintInCliWords(tool: Tool, hint: string | undefined, path: readonly string[]): string | undefined {
  if (hint === undefined) return undefined;
  if (hint.includes(`Arguments of ${tool.name}:`)) return `Nothing was changed. See holdfast ${path.join(" ")} --help.`;
  return inCliWords(tool, hint);
}
