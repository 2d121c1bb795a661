import { randomHex } from "../../kernel/ids.ts";
import type { Params, RequestId } from "../mcp/json-rpc.ts";
import { isPlainObject } from "../mcp/json-rpc.ts";

const envelopePrefix = "io.modelcontextprotocol/";
const versionKey = `${envelopePrefix}protocolVersion`;

/** The sender's details in a request of the protocol without sessions; undefined for a request of the earlier protocol. */
export function envelopeIn(params: Params | undefined): Readonly<Record<string, unknown>> | undefined {
  const meta = params?._meta;
  if (!isPlainObject(meta) || typeof meta[versionKey] !== "string") return undefined;
  return Object.fromEntries(Object.entries(meta).filter(([name]) => name.startsWith(envelopePrefix)));
}

/** Creates requests that the proxy itself sends, with ids that no client uses. */
export class OwnRequests {
  readonly #prefix = `holdfast-proxy-${randomHex(8)}`;
  #asked = 0;

  /** `like` holds the parameters of the client's request that caused this one; both use the same protocol era. */
  next(method: string, params: Params, like: Params | undefined): { readonly id: RequestId; readonly line: string } {
    this.#asked += 1;
    const id = `${this.#prefix}-${this.#asked}`;
    const envelope = envelopeIn(like);
    return { id, line: JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, ...(envelope === undefined ? {} : { _meta: envelope }) } }) };
  }
}
