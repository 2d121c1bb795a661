import * as z from "zod";
import { isWithin, roles } from "../../domain/identity/principal.ts";
import { requireEndsBeforeMaker } from "../../domain/identity/token-maker.ts";
import type { AccessToken } from "../../domain/identity/tokens.ts";
import { createToken, listTokens, revokeToken } from "../../domain/identity/tokens.ts";
import { HoldfastError, invalidInput } from "../../kernel/errors.ts";
import type { Log } from "../../kernel/log.ts";
import type { Store } from "../../store/store.ts";
import type { CreatedToken, TokenRow, TokensAnswer } from "./api.ts";
import type { ApiRoute } from "./api-route.ts";
import { readBody } from "./read-body.ts";
import { readQuery } from "./read-query.ts";

interface TokenRoutesOptions {
  /** The name of the server's operator. */
  readonly operator: string;
  readonly log: Log;
  /** Where tokens are stored. */
  readonly system: Store;
}

const toRow = ({ id, name, role, namespaces, createdAtMs, createdBy, expiresAtMs, lastUsedAtMs }: AccessToken): TokenRow => ({
  id,
  name,
  role,
  namespaces,
  createdAtMs,
  createdBy,
  ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
  ...(lastUsedAtMs === undefined ? {} : { lastUsedAtMs }),
});

/** Admins of some namespaces see and create tokens for those only: a token for more would widen their own access. */
const listAll = (system: Store): ApiRoute => ({
  method: "GET",
  path: "/api/tokens",
  needs: "admin",
  async handle({ base, principal, query }) {
    readQuery(query, {});
    const tokens = await listTokens({ ...base, store: system });
    const view: TokensAnswer = { tokens: tokens.filter(({ namespaces }) => isWithin(principal, namespaces)).map(toRow) };
    return { json: view };
  },
});

const newToken = z.strictObject({
  name: z.string(),
  role: z.enum(roles),
  namespaces: z.union([z.literal("*"), z.array(z.string())], { error: 'required; must be "*" or a list of names' }),
  expiresAtMs: z.int().min(1).optional(),
});

const create = ({ operator, log, system }: TokenRoutesOptions): ApiRoute => ({
  method: "POST",
  path: "/api/tokens",
  needs: "admin",
  async handle(request) {
    const { base, principal } = request;
    readQuery(request.query, {});
    const { name, role, namespaces, expiresAtMs } = await readBody(request, "tokens", newToken);
    if (!isWithin(principal, namespaces))
      throw new HoldfastError("forbidden", "namespaces: you can create tokens only for namespaces that you can use yourself; nothing was changed.", {
        details: { field: "namespaces" },
      });
    const ttlMs = expiresAtMs === undefined ? undefined : expiresAtMs - base.clock.nowMs();
    if (ttlMs !== undefined && ttlMs < 1) throw invalidInput("expiresAtMs", "must be a time in the future, in milliseconds since 1970");
    const maker = { ...principal, operator };
    requireEndsBeforeMaker(maker, expiresAtMs);
    const { token, secret } = await createToken({ ...base, store: system }, { name, role, namespaces, ttlMs }, maker);
    log("info", "token_created", { token: token.id, name, role, namespaces, by: principal.name });
    const created: CreatedToken = { token: toRow(token), secret };
    return { status: 201, json: created };
  },
});

const revoke = ({ log, system }: TokenRoutesOptions): ApiRoute => ({
  method: "DELETE",
  path: "/api/tokens/:id",
  needs: "admin",
  async handle({ base, principal, params, query }) {
    readQuery(query, {});
    const scope = { ...base, store: system };
    const token = (await listTokens(scope)).find(({ id }) => id === params.id);
    if (token === undefined || !isWithin(principal, token.namespaces) || !(await revokeToken(scope, token.id))) throw new HoldfastError("not_found", "There is no such token.");
    log("info", "token_revoked", { token: token.id, name: token.name, by: principal.name });
    return { json: { revoked: true } };
  },
});

export const openTokenRoutes = (options: TokenRoutesOptions): readonly ApiRoute[] => [listAll(options.system), create(options), revoke(options)];
