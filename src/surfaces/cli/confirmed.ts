import { HoldfastError } from "../../kernel/errors.ts";
import type { CliHost } from "./command.ts";

export interface Question {
  readonly question: string;
  /** The outcome if the user does not confirm. */
  readonly otherwise: string;
  readonly yes: boolean;
  readonly json: boolean;
}

/** Asks on a terminal and accepts only a yes. Without a terminal, --yes is required. */
export async function confirmed(host: CliHost, { question, otherwise, yes, json }: Question): Promise<boolean> {
  if (yes) return true;
  if (!host.stdinIsTerminal || json)
    throw new HoldfastError("invalid_input", `--yes: is required when stdin is not a terminal or with --json; ${otherwise}`, { details: { field: "--yes" } });
  host.stdout.write(`${question} [y/N] `);
  for await (const chunk of host.stdin()) return /^\s*y(es)?\s*$/i.test(typeof chunk === "string" ? chunk : Buffer.from(chunk).toString("utf8"));
  return false;
}
