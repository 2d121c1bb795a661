import { invalidInput } from "../../kernel/errors.ts";
import { canonicalJson } from "../../kernel/json.ts";
import { keyRange } from "../../store/ranges.ts";
import type { Scope } from "../../store/transact.ts";
import type { AdoptOptions, Landing } from "../adoption.ts";
import { adopt } from "../adoption.ts";
import { researchKeys } from "../keyspace.ts";
import { requireTime } from "../read-fields.ts";
import type { ResearchContent } from "./checkpoint.ts";
import { requireResearchContent } from "./checkpoint.ts";
import { checkpointWrites } from "./checkpoints.ts";

export interface ForeignCheckpoint extends ResearchContent {
  /** The id it had in the source. */
  readonly id: string;
  readonly savedAtMs: number;
}

const idForm = /^[\p{L}\p{N}][\p{L}\p{N}\p{M}._-]*$/u;
const idBytesMax = 180;

/** Imports a research checkpoint with its original id and time. */
export function adoptCheckpoint(scope: Scope, { id, savedAtMs, ...rest }: ForeignCheckpoint, options: AdoptOptions): Promise<Landing> {
  if (!idForm.test(id) || id !== id.normalize("NFC") || Buffer.byteLength(id) > idBytesMax)
    throw invalidInput("id", `must begin with a letter or digit, then letters, digits and . _ -, at most ${idBytesMax} bytes`);
  requireTime(savedAtMs, "saved");
  const content = requireResearchContent(rest);
  const key = researchKeys.checkpoint(id);
  const contentKey = researchKeys.content(canonicalJson(content));
  return adopt(scope, options, async () => {
    const { entries, revision } = await scope.store.read([keyRange(key), keyRange(contentKey)]);
    const here = entries.find((entry) => entry.key === key);
    if (here !== undefined) return { landing: canonicalJson(here.value) === canonicalJson({ ...content, savedAtMs }) ? "same" : "different" };
    const equal = entries.find((entry) => entry.key === contentKey);
    return {
      checks: [
        { key, is: "absent" },
        { key: contentKey, version: equal?.version ?? 0 },
      ],
      // If an equal checkpoint was saved here before, lookups by content keep finding that one.
      writes: [...checkpointWrites(id, content, { savedAtMs, seenRevision: revision }), ...(equal === undefined ? [{ op: "put" as const, key: contentKey, value: id }] : [])],
    };
  });
}
