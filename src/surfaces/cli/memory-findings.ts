import { knowledgeKeys, vectorKeys } from "../../domain/keyspace.ts";
import { findNotesWithoutQuestions } from "../../domain/knowledge/notes-without-questions.ts";
import type { ToolBase } from "../../tools/run-tool.ts";
import type { CliRuntime } from "./command.ts";
import type { Finding } from "./doctor.ts";

/** Reports the model that receives the notes, and how many notes have vectors; nothing if no model is configured. */
export async function embeddingsFindings(base: ToolBase, { embeddings, embeddingsModel, embeddingsRemote }: CliRuntime["config"]): Promise<Finding[]> {
  if (embeddings === undefined) return [];
  // All notes count, including withdrawn ones, and vectors of any model.
  const [notes, vectors] = await Promise.all([base.store.count(knowledgeKeys.all), base.store.count(vectorKeys.notes)]);
  const sends = embeddingsRemote ? "; notes and questions may leave this machine" : "";
  return [
    {
      check: "embeddings",
      status: "ok",
      says: `${embeddings}${embeddingsModel === undefined ? "" : `, model ${embeddingsModel}`}: ${vectors} of ${notes} ${notes === 1 ? "note" : "notes"} with vectors${sends}`,
    },
  ];
}

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
