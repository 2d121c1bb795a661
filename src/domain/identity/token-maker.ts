import { invalidInput } from "../../kernel/errors.ts";
import type { Principal } from "./principal.ts";
import { isWithin } from "./principal.ts";
import type { AccessToken } from "./tokens.ts";

/** Who makes a token without having the store itself in hand. */
export interface TokenMaker extends Pick<Principal, "name" | "namespaces" | "expiresAtMs"> {
  /** The name under which whoever runs the server stands in history. */
  readonly operator: string;
}

/** Readers of history do not tell such names apart. */
export const sameName = (one: string, other: string): boolean => plain(one) === plain(other);

const plain = (name: string): string => name.normalize("NFKC").toLowerCase();

/**
 * History must not name somebody for what another did. So nobody takes the operator's name, nor that of a token which can write beside the new one and is not
 * the maker's to replace. Where two tokens never meet, both may have one name: else whoever comes first could take names from everybody.
 */
export function requireFreeName(maker: TokenMaker, { name, namespaces }: Pick<AccessToken, "name" | "namespaces">, tokens: readonly AccessToken[]): void {
  if (name === maker.name) return;
  const isTaken = sameName(name, maker.operator) || tokens.some((token) => sameName(name, token.name) && meet(token.namespaces, namespaces) && !isWithin(maker, token.namespaces));
  if (isTaken) throw invalidInput("name", "is already taken; choose another name. Nothing was changed");
}

const meet = (some: AccessToken["namespaces"], others: AccessToken["namespaces"]): boolean =>
  some === "*" || others === "*" || some.some((namespace) => others.includes(namespace));

/** What a credential makes may not go on after it: it would be a way to stay for whoever has it only for a while. */
export function requireEndsBeforeMaker({ expiresAtMs: ownMs }: TokenMaker, expiresAtMs: number | undefined): void {
  if (ownMs === undefined || (expiresAtMs !== undefined && expiresAtMs <= ownMs)) return;
  throw invalidInput("expiresAtMs", `must be at most ${ownMs} (${new Date(ownMs).toISOString()}), when your own credential ends. Nothing was changed`);
}
