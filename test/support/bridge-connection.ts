import { systemClock } from "../../src/kernel/clock.ts";
import type { BridgeOptions } from "../../src/surfaces/connect/bridge.ts";
import { bridge } from "../../src/surfaces/connect/bridge.ts";
import type { CredentialOptions } from "../../src/surfaces/connect/credential.ts";
import { BridgeCredential } from "../../src/surfaces/connect/credential.ts";
import { requireTarget } from "../../src/surfaces/connect/target.ts";
import type { RawLines } from "./mcp-connection.ts";
import { openLines } from "./mcp-connection.ts";

export interface BridgeConnection extends RawLines, AsyncDisposable {
  /** Resolves when the bridge has ended: false, when what was asked last was not answered. */
  readonly ended: Promise<boolean>;
  readonly logged: readonly { readonly event: string; readonly facts: Readonly<Record<string, unknown>> }[];
}

/** A bridge in this process, spoken to as a client that started it would. */
export function openBridge(
  url: string,
  { token, tokenFile, ...options }: CredentialOptions & Partial<Pick<BridgeOptions, "clock" | "retryForMs" | "endMsMax">> = {},
): BridgeConnection {
  const raw = openLines();
  const logged: { event: string; facts: Readonly<Record<string, unknown>> }[] = [];
  const { stdin, stdout } = raw;
  const ended = bridge({
    url: requireTarget(url),
    credential: new BridgeCredential({ token, tokenFile }),
    stdin,
    stdout,
    clock: systemClock,
    log: (_, event, facts = {}) => void logged.push({ event, facts }),
    ...options,
  });
  return {
    ...raw,
    ended,
    logged,
    async [Symbol.asyncDispose]() {
      stdin.end();
      await ended;
    },
  };
}
