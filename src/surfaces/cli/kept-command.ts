import { isUtf8 } from "node:buffer";
import type { Json, JsonObject } from "../../kernel/json.ts";
import type { CliHost } from "./command.ts";
import { exitCodes } from "./command.ts";

/** The stored result of a command. */
export interface KeptCommand extends JsonObject {
  readonly exit_code: number;
  readonly stdout: KeptOutput;
  readonly stderr: KeptOutput;
}

/** UTF-8 text unchanged, any other output in base64. `cut_bytes` is the number of earlier bytes that were not kept. */
type KeptOutput = { readonly text: string; readonly cut_bytes?: number } | { readonly base64: string; readonly cut_bytes?: number };

/** Limit per stream. Both streams together stay well below the maximum size of a value, even in base64 or escaped as JSON. */
const outputBytesMax = 65_536 * 4;
/** Longer texts, counted as JSON, are stored in base64. */
const outputTextMax = 450_000;

/** Keeps the last part of a stream's output, up to the limit. */
export class OutputTail {
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #cut = 0;

  add(bytes: Buffer): void {
    this.#chunks.push(bytes);
    this.#bytes += bytes.length;
    // Trims only at twice the limit, because trimming copies the whole buffer.
    if (this.#bytes > 2 * outputBytesMax) this.#trim(outputBytesMax);
  }

  kept(): KeptOutput {
    this.#trim(outputBytesMax);
    const bytes = Buffer.concat(this.#chunks);
    const cut = this.#cut === 0 ? {} : { cut_bytes: this.#cut };
    const text = isUtf8(bytes) ? bytes.toString("utf8") : undefined;
    // JSON escapes each control character with six characters.
    if (text !== undefined && JSON.stringify(text).length <= outputTextMax) return { text, ...cut };
    return { base64: bytes.toString("base64"), ...cut };
  }

  #trim(bytesMax: number): void {
    if (this.#bytes <= bytesMax) return;
    const all = Buffer.concat(this.#chunks);
    let from = all.length - bytesMax;
    // Do not cut inside a UTF-8 character.
    while (from < all.length && ((all[from] as number) & 0xc0) === 0x80) from += 1;
    this.#cut += from;
    this.#bytes = all.length - from;
    this.#chunks.splice(0, this.#chunks.length, all.subarray(from));
  }
}

export const toKeptCommand = (exitCode: number, stdout: OutputTail, stderr: OutputTail): KeptCommand => ({ exit_code: exitCode, stdout: stdout.kept(), stderr: stderr.kept() });

/** Prints the command's stored output and returns its exit code. An effect that was resolved by hand has no output and counts as a success. */
export function replayCommand(host: CliHost, answer: Json): number {
  const kept = answer as Partial<KeptCommand> | null;
  for (const stream of ["stdout", "stderr"] as const) {
    const output = kept?.[stream];
    if (output === undefined) continue;
    if (output.cut_bytes !== undefined) host.stderr.write(`holdfast: the first ${output.cut_bytes} bytes of ${stream} were not kept\n`);
    host[stream].write("text" in output ? output.text : Buffer.from(output.base64, "base64"));
  }
  return typeof kept?.exit_code === "number" ? kept.exit_code : exitCodes.ok;
}
