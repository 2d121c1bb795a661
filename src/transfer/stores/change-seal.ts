import { isHoldfastError } from "../../kernel/errors.ts";
import type { NamespaceFacts, Seal } from "../../store/store.ts";
import type { Side } from "./compare-namespaces.ts";

export const readFacts = async ({ engine, namespace }: Side): Promise<NamespaceFacts> => (await engine.dump(namespace, { part: "keys" })).facts;

/** Others change a seal at most a few times a minute. */
const attemptsMax = 20;

/**
 * Replaces the seal with what `decide` returns for the current one, and decides again if another change came
 * first. If `decide` returns the same seal, nothing changes. Returns whether it changed.
 */
export async function changeSeal(side: Side, decide: (found: Seal | undefined) => Seal | undefined | Promise<Seal | undefined>): Promise<boolean> {
  for (let attempt = 1; ; attempt += 1) {
    const { seal: found } = await readFacts(side);
    const wanted = await decide(found);
    if (wanted === found) return false;
    try {
      await side.engine.seal(side.namespace, wanted, found);
      return true;
    } catch (error) {
      if (!isHoldfastError(error, "conflict") || attempt === attemptsMax) throw error;
    }
  }
}
