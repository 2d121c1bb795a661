import type { Tool } from "./tool.ts";

/** The answer in the tool's own words, where it has some; a warning stands below them. */
export function answerTexts(tool: Tool, answer: Record<string, unknown>): readonly string[] | undefined {
  const texts = tool.render?.(answer);
  return texts === undefined || typeof answer.warning !== "string" ? texts : [...texts, `Warning: ${answer.warning}`];
}
