import { cell } from "../cell.ts";

/** The token lives as long as the tab, in nothing that is sent by itself: every request names it in a header. */
const storageKey = "holdfast-token";
let held: string | undefined;

export function readToken(): string | undefined {
  if (held !== undefined) return held;
  try {
    held = sessionStorage.getItem(storageKey) ?? undefined;
  } catch {
    // Storage is switched off: the token lives as long as the page.
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

/** Set while the server wants a token; `refused`: the one that was given is not good. */
export const signedOut = cell<{ readonly refused: boolean; readonly message: string } | undefined>(undefined);
