import { HoldfastError } from "../kernel/errors.ts";
import type { Revision } from "../store/store.ts";

/** A write under a lease was refused because its guard does not hold any more. */
export const leaseLost = ({ resource, token }: { readonly resource: string; readonly token: Revision }): HoldfastError =>
  new HoldfastError("lease_lost", `The lease on ${JSON.stringify(resource)} is not live or ${token} is not its current token; nothing was written.`, {
    hint: "Acquire the lease again and check what changed meanwhile.",
    details: { resource_id: resource, token },
  });
