import type { Me } from "../../src/surfaces/dashboard/api.ts";
import { cell } from "../cell.ts";
import type { ApiFailure } from "./api-client.ts";
import { asFailure, requestApi } from "./api-client.ts";
import { forgetToken, keepToken, signedOut } from "./credential.ts";
import { unfollow } from "./live.ts";
import { forgetAnswers } from "./use-query.ts";

export type TabSession = { readonly me?: Me; readonly error?: ApiFailure };

export const session = cell<TabSession>({});

export async function startSession(): Promise<void> {
  try {
    const me = await requestApi<Me>("/api/me");
    signedOut.set(undefined);
    session.set({ me });
  } catch (error) {
    const failure = asFailure(error);
    session.set(failure.status === 401 ? {} : { error: failure });
  }
}

/** Namespaces appear and disappear while a page is open. If the list cannot be read, the last one stays. */
export async function refreshSession(): Promise<void> {
  try {
    session.set({ me: await requestApi<Me>("/api/me") });
  } catch {
    // Keep the last known session.
  }
}

/** Returns why the token was rejected; undefined if it was accepted. */
export async function signIn(token: string): Promise<string | undefined> {
  keepToken(token);
  await startSession();
  const { me, error } = session.get();
  if (me !== undefined) return undefined;
  forgetToken();
  return error?.message ?? "This token is not valid. It may be incomplete, expired or revoked.";
}

/** Removes everything from the page that was read with the token. */
export function signOut(): void {
  forgetToken();
  unfollow();
  forgetAnswers();
  session.set({});
  signedOut.set({ refused: false });
}

/** Whether to show buttons that write. The server enforces permissions itself. */
export const mayWrite = ({ role, readOnly }: Me): boolean => role !== "read" && !readOnly;
