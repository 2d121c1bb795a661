import { HoldfastError } from "../../kernel/errors.ts";
import type { Log } from "../../kernel/log.ts";
import { descriptionOf, fullSchemas } from "../../tools/describe-tool.ts";
import { runTool } from "../../tools/run-tool.ts";
import type { Tool } from "../../tools/tool.ts";
import type { ToolsView } from "./api.ts";
import type { ApiRoute } from "./api-route.ts";
import { readQuery } from "./read-query.ts";

type ToolView = ToolsView["tools"][number];
const views = new WeakMap<Tool, ToolView>();

/** Includes everything the schema checks, so that a form can report a problem before the server does. */
function toView(tool: Tool): ToolView {
  const known = views.get(tool);
  if (known !== undefined) return known;
  const { name, title, effect, toolset } = tool;
  const view: ToolView = { name, title, description: descriptionOf(tool), effect, toolset, input: fullSchemas(tool).input };
  views.set(tool, view);
  return view;
}

const tools: ApiRoute = {
  method: "GET",
  path: "/api/tools",
  needs: "read",
  async handle({ tools: allowed, query }) {
    readQuery(query, {});
    const view: ToolsView = { tools: allowed.map(toView) };
    return { json: view };
  },
};

/** The caller's list decides which tools it may use: for the role `read`, the list has no tool that writes. */
const callTool = (log: Log): ApiRoute => ({
  method: "POST",
  path: "/api/ns/:namespace/tools/:tool",
  needs: "read",
  async handle(request) {
    readQuery(request.query, {});
    const tool = request.tools.find(({ name }) => name === request.params.tool);
    if (tool === undefined)
      throw new HoldfastError("not_found", `There is no tool ${JSON.stringify((request.params.tool ?? "").slice(0, 64))}.`, { hint: "GET /api/tools lists those you may call." });
    const outcome = await runTool(tool, await request.json(), request.base, { signal: request.signal }, log);
    if (outcome.ok) return { json: outcome.structured };
    const { code, message, hint, details } = outcome.error;
    throw new HoldfastError(code, message, { hint, details });
  },
});

export const openToolRoutes = (log: Log): readonly ApiRoute[] => [tools, callTool(log)];
