import { cell } from "../cell.ts";

/** The token lives as long as the tab. It is not in a cookie, which browsers send automatically: each request sends it in a header. */
const storageKey = "holdfast-token";
let held: string | undefined;

export function readToken(): string | undefined {
  if (held !== undefined) return held;
  try {
    held = sessionStorage.getItem(storageKey) ?? undefined;
  } catch {
    // Storage is disabled: the token lives as long as the page.
  }
  return held;
}

export function keepToken(token: string): void {
  held = token;
  try {
    sessionStorage.setItem(storageKey, token);
  } catch {
    // As above.
  }
}

export function forgetToken(): void {
  held = undefined;
  try {
    sessionStorage.removeItem(storageKey);
  } catch {
    // As above.
  }
}

/** Set while the server requires a token; `refused`: the given token was rejected. */
export const signedOut = cell<{ readonly refused: boolean } | undefined>(undefined);
