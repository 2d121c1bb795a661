import * as z from "zod";
import { isWithin, roles } from "../../domain/identity/principal.ts";
import { requireEndsBeforeMaker } from "../../domain/identity/token-maker.ts";
import type { AccessToken } from "../../domain/identity/tokens.ts";
import { createToken, listTokens, revokeToken } from "../../domain/identity/tokens.ts";
import { systemNamespace } from "../../domain/keyspace.ts";
import { HoldfastError, invalidInput } from "../../kernel/errors.ts";
import type { Log } from "../../kernel/log.ts";
import { openReservedStore } from "../../store/namespace-store.ts";
import type { Scope } from "../../store/transact.ts";
import type { ToolBase } from "../../tools/run-tool.ts";
import type { CreatedToken, TokenRow, TokensAnswer } from "./api.ts";
import type { ApiRoute } from "./api-route.ts";
import { readBody } from "./read-body.ts";
import { readQuery } from "./read-query.ts";

const scopeOf = ({ server, clock, writer }: ToolBase): Scope => ({ store: openReservedStore(server.engine, systemNamespace, clock), clock, writer });

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

/** Administrators of some namespaces see and create tokens for those alone: a token for more would give them more. */
const listAll: ApiRoute = {
  method: "GET",
  path: "/api/tokens",
  needs: "admin",
  async handle({ base, principal, query }) {
    readQuery(query, {});
    const tokens = await listTokens(scopeOf(base));
    const view: TokensAnswer = { tokens: tokens.filter(({ namespaces }) => isWithin(principal, namespaces)).map(toRow) };
    return { json: view };
  },
};

const newToken = z.strictObject({
  name: z.string(),
  role: z.enum(roles),
  namespaces: z.union([z.literal("*"), z.array(z.string())], { error: 'required; must be "*" or a list of names' }),
  expiresAtMs: z.int().min(1).optional(),
});

const create = (operator: string, log: Log): ApiRoute => ({
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
    const { token, secret } = await createToken(scopeOf(base), { name, role, namespaces, ttlMs }, maker);
    log("info", "token_created", { token: token.id, name, role, namespaces, by: principal.name });
    const created: CreatedToken = { token: toRow(token), secret };
    return { status: 201, json: created };
  },
});

const revoke = (log: Log): ApiRoute => ({
  method: "DELETE",
  path: "/api/tokens/:id",
  needs: "admin",
  async handle({ base, principal, params, query }) {
    readQuery(query, {});
    const scope = scopeOf(base);
    const token = (await listTokens(scope)).find(({ id }) => id === params.id);
    if (token === undefined || !isWithin(principal, token.namespaces) || !(await revokeToken(scope, token.id))) throw new HoldfastError("not_found", "There is no such token.");
    log("info", "token_revoked", { token: token.id, name: token.name, by: principal.name });
    return { json: { revoked: true } };
  },
});

/** `operator`: the operator's name. */
export const openTokenRoutes = (operator: string, log: Log): readonly ApiRoute[] => [listAll, create(operator, log), revoke(log)];
