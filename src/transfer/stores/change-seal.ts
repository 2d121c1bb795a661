import { isHoldfastError } from "../../kernel/errors.ts";
import type { NamespaceFacts, Seal } from "../../store/store.ts";
import type { Side } from "./compare-namespaces.ts";

export const readFacts = async ({ engine, namespace }: Side): Promise<NamespaceFacts> => (await engine.dump(namespace, { part: "keys" })).facts;

/** Others change a seal a few times a minute at most. */
const attemptsMax = 20;

/** Changes the seal to what `decide` makes of the one that is there; when another came in between, decides anew. The same one back: nothing is to be changed. Says whether anything was. */
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
