import { readOnlyClaim } from "../domain/workflows/claims.ts";
import type { Reporter } from "../domain/workflows/workflow.ts";
import type { ToolContext } from "./tool.ts";

/** The most claims remembered at once. When the oldest are dropped, their workers must pass an agent id or token, or claim again. */
const claimsMax = 10_000;

/** Remembers which connection made which claim, for workers that do not identify themselves with every step. */
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

  /** Called when the run was given back. */
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
 * Determines who reports on a run. A caller that passes neither an agent id nor a token is identified by the claim it made on
 * this connection, so it gets an error if it was replaced. Over the network, each call may use a different connection. There the
 * principal must be the one that made the claim, and no other agent may ever have held the run.
 */
export async function reporterOf(context: ToolContext, runId: string, { agentId, token }: Reporter): Promise<Reporter> {
  if (agentId !== undefined || token !== undefined) return { agentId, token };
  const { claims, tellsOf } = context.server;
  const known = claims?.tokenOf(context, runId);
  const isRemote = tellsOf !== undefined;
  if (known !== undefined || !isRemote) return { token: known };
  return { token: await readOnlyClaim(context, runId) };
}
