import { findNotesWithoutQuestions } from "../../domain/knowledge/notes-without-questions.ts";
import type { ToolBase } from "../../tools/run-tool.ts";
import type { Finding } from "./doctor.ts";

/** How many active notes can only be found by their own words; nothing if there are no notes. */
export async function notesFindings(base: ToolBase): Promise<Finding[]> {
  const { recallable, without, more } = await findNotesWithoutQuestions(base);
  if (recallable === 0) return [];
  const all = `${more ? "the first " : ""}${recallable} active ${recallable === 1 ? "note" : "notes"}`;
  if (without === 0) return [{ check: "notes", status: "ok", says: `${all} ${recallable === 1 ? "has" : "have"} questions to be found by` }];
  return [
    {
      check: "notes",
      status: "warn",
      says: `${without} of ${all} ${without === 1 ? "has" : "have"} no questions, so a question in other words hardly finds ${without === 1 ? "it" : "them"}`,
      fix: "Send your agent the MCP prompt enrich; it adds questions to some notes at a time.",
    },
  ];
}
