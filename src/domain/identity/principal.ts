/** What a caller may do. Each includes the one before: admin also manages tokens. */
export const roles = ["read", "write", "admin"] as const;
export type Role = (typeof roles)[number];

/** Who calls, as the server found out for itself; nothing a caller says about itself can change it. */
export interface Principal {
  /** The writer that history names. */
  readonly name: string;
  readonly role: Role;
  /** Those it may use; "*" = every one. The first is the one used when the caller names none. */
  readonly namespaces: readonly string[] | "*";
  /** operator: whoever sits at this machine, on loopback without a token. */
  readonly kind: "operator" | "token" | "jwt";
  /** Of a stored token. */
  readonly tokenId?: string;
  /** When the credential ends by itself; absent = not before it is revoked. */
  readonly expiresAtMs?: number;
}

export const hasRole = ({ role }: Pick<Principal, "role">, needed: Role): boolean => roles.indexOf(role) >= roles.indexOf(needed);

export const mayUse = ({ namespaces }: Pick<Principal, "namespaces">, namespace: string): boolean => namespaces === "*" || namespaces.includes(namespace);

/** Whether it may use all of these. */
export const isWithin = (principal: Pick<Principal, "namespaces">, namespaces: Principal["namespaces"]): boolean =>
  principal.namespaces === "*" || (namespaces !== "*" && namespaces.every((namespace) => mayUse(principal, namespace)));
