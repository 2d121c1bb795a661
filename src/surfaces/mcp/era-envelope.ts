import { handshakeVersions, statelessVersion } from "./greeting.ts";
import type { Params } from "./json-rpc.ts";
import { isPlainObject } from "./json-rpc.ts";

/**
 * What a message's `_meta` says about the protocol era:
 * - none: nothing, so the message belongs to the handshake era;
 * - plain: the 2026-07-28 envelope in a form that this module knows completely;
 * - other: any other claim, valid or not; only the SDK may judge it.
 */
export type EraEnvelope = "none" | "plain" | "other";

const key = {
  version: "io.modelcontextprotocol/protocolVersion",
  client: "io.modelcontextprotocol/clientInfo",
  capabilities: "io.modelcontextprotocol/clientCapabilities",
  logLevel: "io.modelcontextprotocol/logLevel",
} as const;

export function eraEnvelopeOf(params: Params | undefined): EraEnvelope {
  const meta = params?._meta as Record<string, unknown> | undefined;
  if (meta === undefined || !(key.version in meta)) return "none";
  if (meta[key.version] !== statelessVersion || key.logLevel in meta) return "other";
  const client = meta[key.client];
  return (client === undefined || isPlainImplementation(client)) && isPlainCapabilities(meta[key.capabilities]) ? "plain" : "other";
}

/** The protocol version in a message, if this server does not support it. The SDK checks only the first message of a connection. */
export function unknownVersionIn(params: Params | undefined): string | undefined {
  const version = (params?._meta as Record<string, unknown> | undefined)?.[key.version];
  const isKnown = typeof version !== "string" || version === statelessVersion || (handshakeVersions as readonly string[]).includes(version);
  return isKnown ? undefined : version;
}

/** Icons have a nested structure, so the SDK handles them. */
export function isPlainImplementation(value: unknown): boolean {
  if (!isPlainObject(value) || typeof value.name !== "string" || typeof value.version !== "string" || value.icons !== undefined) return false;
  return isAbsentOrText(value.title) && isAbsentOrText(value.websiteUrl) && isAbsentOrText(value.description);
}

/** The capabilities with a known structure; any other is accepted as it is. */
const capabilityShapes: Readonly<Record<string, (capability: Record<string, unknown>) => boolean>> = {
  experimental: (named) => Object.values(named).every(isPlainObject),
  extensions: (named) => Object.values(named).every(isPlainObject),
  sampling: ({ context, tools }) => isAbsentOrObject(context) && isAbsentOrObject(tools),
  elicitation: ({ form, url }) => isAbsentOrObject(form) && isAbsentOrFlag(form?.applyDefaults) && isAbsentOrObject(url),
  roots: ({ listChanged }) => isAbsentOrFlag(listChanged),
  // Deeply structured and not used here, so the SDK handles it.
  tasks: () => false,
};

export function isPlainCapabilities(value: unknown): boolean {
  if (!isPlainObject(value)) return false;
  for (const name in capabilityShapes) {
    const capability = value[name];
    if (capability !== undefined && !(isPlainObject(capability) && capabilityShapes[name]?.(capability))) return false;
  }
  return true;
}

const isAbsentOrObject = (value: unknown): value is Record<string, unknown> | undefined => value === undefined || isPlainObject(value);
const isAbsentOrText = (value: unknown): boolean => value === undefined || typeof value === "string";
const isAbsentOrFlag = (value: unknown): boolean => value === undefined || typeof value === "boolean";

/** A copy of a message's envelope, for opening a connection. */
export const envelopeOf = (params: Params | undefined): Record<string, unknown> => {
  const meta = params?._meta as Record<string, unknown>;
  return { [key.version]: meta[key.version], [key.capabilities]: meta[key.capabilities] };
};
