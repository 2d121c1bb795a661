import { readFileSync } from "node:fs";
import { HoldfastError } from "../../kernel/errors.ts";

/** Characters that a header may contain, in a length that fits into one. */
const tokenForm = /^[\x21-\x7e]{1,8192}$/;

export interface CredentialOptions {
  readonly token?: string;
  /** Read again when the server rejects the token: tokens are replaced by rewriting the file. */
  readonly tokenFile?: string;
}

/** The token sent with every request. It never appears in a message or in the log. */
export class BridgeCredential {
  readonly #file: string | undefined;
  #token: string | undefined;

  constructor({ token, tokenFile }: CredentialOptions) {
    this.#file = tokenFile;
    this.#token = tokenFile === undefined ? token : readToken(tokenFile);
  }

  get headers(): Readonly<Record<string, string>> {
    return this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` };
  }

  /** Reads the token file again. Returns true if the token changed. */
  renew(): boolean {
    if (this.#file === undefined) return false;
    const before = this.#token;
    try {
      this.#token = readToken(this.#file);
    } catch {
      // The file is being written or is gone, so the server's rejection is final.
      return false;
    }
    return this.#token !== before;
  }
}

function readToken(file: string): string {
  let text: string;
  try {
    text = readFileSync(file, "utf8").trim();
  } catch (cause) {
    const { code = "unknown reason" } = cause as NodeJS.ErrnoException;
    const problem = code === "ENOENT" ? `there is no file ${JSON.stringify(file)}` : `${JSON.stringify(file)} cannot be read (${code})`;
    throw new HoldfastError("invalid_input", `--token-file: ${problem}`, { details: { field: "token-file" } });
  }
  if (!tokenForm.test(text)) throw new HoldfastError("invalid_input", "--token-file: must contain one token and nothing else", { details: { field: "token-file" } });
  return text;
}
