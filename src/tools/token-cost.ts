import { estimateTokens } from "../kernel/tokens.ts";
import { descriptionsOf } from "./describe-tool.ts";
import type { Tool } from "./tool.ts";

/** The tokens that a model reads on every turn: the instructions and each tool's name, description and input schema. */
export const tokenCost = (tools: readonly Tool[], instructions = ""): number =>
  estimateTokens(instructions) + estimateTokens(JSON.stringify(descriptionsOf(tools).map(({ name, description, inputSchema }) => ({ name, description, inputSchema }))));
