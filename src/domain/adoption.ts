import { prepareCommit } from "../store/prepare-commit.ts";
import type { Check, Write } from "../store/store.ts";
import type { Scope } from "../store/transact.ts";
import { transact } from "../store/transact.ts";

/**
 * What becomes of a record that was made elsewhere. What is already here is never replaced:
 * `same` = it is here as it is there; `different` = something else has its name and stays; `lapsed` = its time was over.
 */
export type Landing = "new" | "same" | "different" | "lapsed";

export interface AdoptOptions {
  /** Says what would happen, and writes nothing. */
  readonly dryRun: boolean;
}

export type Adoption = { readonly landing: Exclude<Landing, "new"> } | { readonly checks: readonly Check[]; readonly writes: readonly Write[] };

/** The plan and the import share one function, so that they cannot disagree: a dry run stops only before the commit, which it checks like any other. */
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
