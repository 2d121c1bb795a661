import { prepareCommit } from "../store/prepare-commit.ts";
import type { Check, Write } from "../store/store.ts";
import type { Scope } from "../store/transact.ts";
import { transact } from "../store/transact.ts";

/**
 * The outcome of importing a record. An import never replaces an existing record:
 * `same` = an equal record is already here; `different` = another record already has this name and stays; `lapsed` = the record has expired.
 */
export type Landing = "new" | "same" | "different" | "lapsed";

export interface AdoptOptions {
  /** Reports what would happen and writes nothing. */
  readonly dryRun: boolean;
}

export type Adoption = { readonly landing: Exclude<Landing, "new"> } | { readonly checks: readonly Check[]; readonly writes: readonly Write[] };

/** Dry runs and imports share this function so that they cannot disagree. A dry run checks the commit like any other and stops just before it. */
export function adopt(scope: Scope, { dryRun }: AdoptOptions, decide: () => Promise<Adoption>): Promise<Landing> {
  return transact<null, Landing>(scope, {
    async decide() {
      const adoption = await decide();
      if ("landing" in adoption) return { answer: adoption.landing };
      if (!dryRun) return { ...adoption, note: null };
      prepareCommit({ ...adoption, writer: scope.writer, agent: scope.agent });
      return { answer: "new" };
    },
    finish: () => "new",
  });
}
