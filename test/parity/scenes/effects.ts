import type { BegunEffect } from "../../../src/domain/effects/begin-effect.ts";
import { beginEffect } from "../../../src/domain/effects/begin-effect.ts";
import { finishEffect } from "../../../src/domain/effects/finish-effect.ts";
import { openNamespaceStore } from "../../../src/store/namespace-store.ts";
import type { Scope } from "../../../src/store/transact.ts";
import type { Teller } from "../teller.ts";

/** Effects begun by a program, and looked at and resolved by a model. */
export async function effectScene({ call, note, clock, engine, namespace }: Teller): Promise<void> {
  const scope: Scope = { store: openNamespaceStore(engine, namespace, clock), clock, writer: "program", agent: "ann" };
  const begin = async (name: string): Promise<BegunEffect> => {
    const begun = await beginEffect(scope, { identity: { name, run: "run-1", tool: "pay", args: { amount: 10 } }, liveMs: 1_000, nonce: name });
    note(`begin ${name}`, begun);
    return begun;
  };
  await call("effects", {});
  const paid = await begin("paid");
  if (paid.outcome === "begun") note("finish", await finishEffect(scope, { ...paid, outcome: { state: "done", answer: { receipt: 7 } } }));
  await begin("paid");
  const lost = await begin("lost");
  await call("effects", { id: lost.id, as: "failed" });
  clock.advance(1_000);
  await begin("lost");
  await call("effects", { run_id: "run-1" });
  await call("effects", { id: paid.id });
  await call("effects", { id: lost.id, as: "failed", reason: "not on the statement" });
  await begin("lost");
  await call("effects", { id: lost.id });
  await call("effects", { as: "done" });
  await call("history_log", { kind: "effect", n: 20 });
}
