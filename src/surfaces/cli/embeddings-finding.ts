import { countVectors } from "../../domain/findable/count-vectors.ts";
import type { ToolBase } from "../../tools/run-tool.ts";
import type { CliRuntime } from "./command.ts";
import type { Finding } from "./doctor.ts";

/** Reports the model that receives the notes, and how many notes have vectors; nothing if no model is configured. */
export async function embeddingsFindings(base: ToolBase, { embeddings, embeddingsModel, embeddingsRemote }: CliRuntime["config"]): Promise<Finding[]> {
  if (embeddings === undefined) return [];
  const { notes, vectors } = await countVectors(base);
  const sends = embeddingsRemote ? "; notes and questions may leave this machine" : "";
  return [
    {
      check: "embeddings",
      status: "ok",
      says: `${embeddings}${embeddingsModel === undefined ? "" : `, model ${embeddingsModel}`}: ${vectors} of ${notes} ${notes === 1 ? "note" : "notes"} with vectors${sends}`,
    },
  ];
}
