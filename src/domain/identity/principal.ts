/** Each role includes the ones before it. Only admin manages tokens. */
export const roles = ["read", "write", "admin"] as const;
export type Role = (typeof roles)[number];

/** The authenticated caller. The server determines it; nothing a caller claims about itself can change it. */
export interface Principal {
  /** Recorded as the writer in history. */
  readonly name: string;
  readonly role: Role;
  /** The namespaces it may use; "*" = all of them. The first is the default when a request names none. */
  readonly namespaces: readonly string[] | "*";
  /** operator: the person at this machine, connected over loopback without a token. */
  readonly kind: "operator" | "token" | "jwt";
  /** Set for stored tokens only. */
  readonly tokenId?: string;
  /** When the credential expires; absent = valid until revoked. */
  readonly expiresAtMs?: number;
}

export const hasRole = ({ role }: Pick<Principal, "role">, needed: Role): boolean => roles.indexOf(role) >= roles.indexOf(needed);

export const mayUse = ({ namespaces }: Pick<Principal, "namespaces">, namespace: string): boolean => namespaces === "*" || namespaces.includes(namespace);

/** Whether the principal may use all of these namespaces. */
export const isWithin = (principal: Pick<Principal, "namespaces">, namespaces: Principal["namespaces"]): boolean =>
  principal.namespaces === "*" || (namespaces !== "*" && namespaces.every((namespace) => mayUse(principal, namespace)));
