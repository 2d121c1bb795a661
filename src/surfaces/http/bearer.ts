import type { IncomingMessage } from "node:http";

/** A request's credential. `none`: no such header at all. An empty or malformed header is a wrong credential, not an absent one. */
export type Credential = { readonly kind: "none" } | { readonly kind: "malformed" } | { readonly kind: "bearer"; readonly secret: string };

const none: Credential = { kind: "none" };
const malformed: Credential = { kind: "malformed" };

/** The form defined by RFC 6750, no longer than a header may be. */
const bearerForm = /^bearer +([A-Za-z0-9._~+/-]{1,8192}=*) *$/i;

/** Only the Authorization header counts: URLs and cookies end up in logs, histories and other sites' requests. */
export function readCredential({ headers: { authorization }, rawHeaders }: Pick<IncomingMessage, "headers" | "rawHeaders">): Credential {
  if (authorization === undefined) return none;
  // Node exposes only the first of two headers, and a proxy in front may have used the other.
  const secret = isSingle(rawHeaders) ? bearerForm.exec(authorization)?.[1] : undefined;
  return secret === undefined ? malformed : { kind: "bearer", secret };
}

const headerName = "authorization";

function isSingle(rawHeaders: readonly string[]): boolean {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    if (name.length === headerName.length && name.toLowerCase() === headerName) count += 1;
  }
  return count === 1;
}
