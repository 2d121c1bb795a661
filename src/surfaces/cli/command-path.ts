import type { Tool } from "../../tools/tool.ts";

/** The words that a tool's command begins with: `lease_acquire` is `lease acquire`, unless the tool says otherwise. */
export function commandPath(tool: Tool): readonly string[] {
  if (tool.cli !== undefined) return tool.cli.command;
  const underscore = tool.name.indexOf("_");
  return underscore === -1 ? [tool.name] : [tool.name.slice(0, underscore), tool.name.slice(underscore + 1).replaceAll("_", "-")];
}
