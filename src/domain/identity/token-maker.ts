import { invalidInput } from "../../kernel/errors.ts";
import type { Principal } from "./principal.ts";
import { isWithin } from "./principal.ts";
import type { AccessToken } from "./tokens.ts";

/** A caller that creates a token over HTTP, without direct access to the store. */
export interface TokenMaker extends Pick<Principal, "name" | "namespaces" | "expiresAtMs"> {
  /** The name that history shows for the person who runs the server. */
  readonly operator: string;
}

/** Compares names the way a reader of history would: case and compatibility forms make no difference. */
export const sameName = (one: string, other: string): boolean => plain(one) === plain(other);

const plain = (name: string): string => name.normalize("NFKC").toLowerCase();

/**
 * History must not attribute one caller's writes to another. So a new token cannot take the operator's name, nor the name
 * of a token that shares a namespace with it and that the maker could not replace. Two tokens without a common namespace
 * may share a name; otherwise the first caller could reserve names in every namespace.
 */
export function requireFreeName(maker: TokenMaker, { name, namespaces }: Pick<AccessToken, "name" | "namespaces">, tokens: readonly AccessToken[]): void {
  if (name === maker.name) return;
  const isTaken = sameName(name, maker.operator) || tokens.some((token) => sameName(name, token.name) && meet(token.namespaces, namespaces) && !isWithin(maker, token.namespaces));
  if (isTaken) throw invalidInput("name", "is already taken; choose another name. Nothing was changed");
}

const meet = (some: AccessToken["namespaces"], others: AccessToken["namespaces"]): boolean =>
  some === "*" || others === "*" || some.some((namespace) => others.includes(namespace));

/** A token must not outlive the credential that created it. Otherwise temporary access could be made permanent. */
export function requireEndsBeforeMaker({ expiresAtMs: ownMs }: TokenMaker, expiresAtMs: number | undefined): void {
  if (ownMs === undefined || (expiresAtMs !== undefined && expiresAtMs <= ownMs)) return;
  throw invalidInput("expiresAtMs", `must be at most ${ownMs} (${new Date(ownMs).toISOString()}), when your own credential ends. Nothing was changed`);
}
