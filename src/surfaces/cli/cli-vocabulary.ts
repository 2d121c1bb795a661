import { catalog } from "../../tools/catalog.ts";
import type { Tool } from "../../tools/tool.ts";
import { commandPath } from "./command-path.ts";
import { agentProperties, parametersOf } from "./parameters.ts";

/** Every tool's own name as the command that a person would type. Only names that cannot be taken for ordinary words. */
const commandOfTool: ReadonlyMap<string, string> = new Map(catalog.filter(({ name }) => name.includes("_")).map((tool) => [tool.name, `holdfast ${commandPath(tool).join(" ")}`]));

/**
 * Texts that were written for callers of tools, in the words of the command line: `expected_version` is `--expected-version`,
 * `sidecar_health` is `holdfast health`. A name without an underscore may be an ordinary word, so it is only replaced where it names a field.
 */
export function inCliWords(tool: Tool, text: string): string {
  const parameters = new Map(parametersOf(tool).map(({ property, flag }) => [property, tool.positional.includes(property) ? `<${property}>` : `--${flag}`]));
  for (const property of agentProperties) parameters.set(property, "--agent");
  return text
    .replaceAll(/(?<![\w/<-])[a-z]+(?:_[a-z]+)+(?![\w>])/g, (word) => parameters.get(word) ?? commandOfTool.get(word) ?? word)
    .replaceAll(/^([A-Za-z]+)(?=[:.[])/gm, (word) => parameters.get(word) ?? word);
}

/** What is wrong with the arguments of a tool is followed by their list; here help has it. */
export function hintInCliWords(tool: Tool, hint: string | undefined, path: readonly string[]): string | undefined {
  if (hint === undefined) return undefined;
  if (hint.includes(`Arguments of ${tool.name}:`)) return `Nothing was changed. See holdfast ${path.join(" ")} --help.`;
  return inCliWords(tool, hint);
}
