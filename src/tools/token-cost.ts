import { estimateTokens } from "../kernel/tokens.ts";
import { descriptionsOf } from "./describe-tool.ts";
import type { Tool } from "./tool.ts";

/** What a model reads on every turn: instructions, and each tool's name, description and input schema. */
export const tokenCost = (tools: readonly Tool[], instructions = ""): number =>
  estimateTokens(instructions) + estimateTokens(JSON.stringify(descriptionsOf(tools).map(({ name, description, inputSchema }) => ({ name, description, inputSchema }))));

/** The whole list as it travels, with what only programs use: titles, output schemas, annotations. */
export const listTokenCost = (tools: readonly Tool[], instructions = ""): number => estimateTokens(instructions) + estimateTokens(JSON.stringify(descriptionsOf(tools)));
