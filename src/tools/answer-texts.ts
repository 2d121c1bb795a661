import type { Tool } from "./tool.ts";

/** The answer as rendered by the tool, if it renders one, followed by a warning. */
export function answerTexts(tool: Tool, answer: Record<string, unknown>): readonly string[] | undefined {
  const texts = tool.render?.(answer);
  return texts === undefined || typeof answer.warning !== "string" ? texts : [...texts, `Warning: ${answer.warning}`];
}
