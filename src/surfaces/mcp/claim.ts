import { isPlainObject, type Params } from "./json-rpc.ts";
import { statelessVersion } from "./greeting.ts";

/**
 * What a message's `_meta` says about the protocol era:
 * - none: nothing, so it belongs to the handshake era;
 * - plain: the 2026-07-28 envelope in a form known here through and through;
 * - other: some other claim, right or wrong; only the SDK may judge it.
 */
export type Claim = "none" | "plain" | "other";

const key = {
  version: "io.modelcontextprotocol/protocolVersion",
  client: "io.modelcontextprotocol/clientInfo",
  capabilities: "io.modelcontextprotocol/clientCapabilities",
  logLevel: "io.modelcontextprotocol/logLevel",
} as const;

export function claimOf(params: Params | undefined): Claim {
  const meta = params?._meta as Record<string, unknown> | undefined;
  if (meta === undefined || !(key.version in meta)) return "none";
  if (meta[key.version] !== statelessVersion || key.logLevel in meta) return "other";
  const client = meta[key.client];
  return (client === undefined || isPlainImplementation(client)) && isPlainCapabilities(meta[key.capabilities]) ? "plain" : "other";
}

/** Strings only: icons have a structure of their own and go to the SDK. */
export function isPlainImplementation(value: unknown): boolean {
  if (!isPlainObject(value) || typeof value.name !== "string" || typeof value.version !== "string") return false;
  for (const member in value) if (typeof value[member] !== "string") return false;
  return true;
}

/** Two levels of objects, flags among the leaves, as every client known sends them. */
export function isPlainCapabilities(value: unknown): boolean {
  if (!isPlainObject(value)) return false;
  for (const name in value) {
    const capability = value[name];
    if (!isPlainObject(capability)) return false;
    for (const member in capability) {
      const leaf = capability[member];
      if (name === "roots" ? typeof leaf !== "boolean" : !isEmptyObject(leaf)) return false;
    }
  }
  return true;
}

function isEmptyObject(value: unknown): boolean {
  if (!isPlainObject(value)) return false;
  for (const _ in value) return false;
  return true;
}

/** The envelope of a message, to open a connection with. */
export const envelopeOf = (params: Params | undefined): Record<string, unknown> => {
  const meta = params?._meta as Record<string, unknown>;
  return { [key.version]: meta[key.version], [key.capabilities]: meta[key.capabilities] };
};
