import { readOnlyClaim } from "../domain/workflows/claims.ts";
import type { Reporter } from "../domain/workflows/workflow.ts";
import type { ToolContext } from "./tool.ts";

/** Claims remembered at once; the oldest make room, and their workers name themselves or claim again. */
const claimsMax = 10_000;

/** Which claims were made on which connection, for workers that do not name themselves with every step. */
export class ConnectionClaims {
  readonly #tokens = new Map<string, number>();

  note(context: ToolContext, runId: string, token: number): void {
    const name = nameOf(context, runId);
    if (name === undefined) return;
    this.#tokens.delete(name);
    this.#tokens.set(name, token);
    const [oldest] = this.#tokens.keys();
    if (this.#tokens.size > claimsMax && oldest !== undefined) this.#tokens.delete(oldest);
  }

  /** The run was given back. */
  forget(context: ToolContext, runId: string): void {
    const name = nameOf(context, runId);
    if (name !== undefined) this.#tokens.delete(name);
  }

  tokenOf(context: ToolContext, runId: string): number | undefined {
    const name = nameOf(context, runId);
    return name === undefined ? undefined : this.#tokens.get(name);
  }
}

const nameOf = ({ connection, store, writer }: ToolContext, runId: string): string | undefined =>
  connection === undefined ? undefined : [connection, writer, store.namespace, runId].join("\0");

/**
 * Who reports on a run. A caller that names neither an agent nor a token is the one that claimed the run on this connection, by that
 * claim's token: replaced, it is told so. Over the network a call may come on any connection; there the principal must be the one
 * that claimed, on a run that nobody else has ever held.
 */
export async function reporterOf(context: ToolContext, runId: string, { agentId, token }: Reporter): Promise<Reporter> {
  if (agentId !== undefined || token !== undefined) return { agentId, token };
  const { claims, tellsOf } = context.server;
  const known = claims?.tokenOf(context, runId);
  const isRemote = tellsOf !== undefined;
  if (known !== undefined || !isRemote) return { token: known };
  return { token: await readOnlyClaim(context, runId) };
}
