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

/** Namespaces come and go while a page is open; that they could not be asked for is no reason to show less. */
export async function refreshSession(): Promise<void> {
  try {
    session.set({ me: await requestApi<Me>("/api/me") });
  } catch {
    // What was known stays.
  }
}

/** Answers why the token is not good; nothing when it is. */
export async function signIn(token: string): Promise<string | undefined> {
  keepToken(token);
  await startSession();
  const { me, error } = session.get();
  if (me !== undefined) return undefined;
  forgetToken();
  return error?.message ?? signedOut.get()?.message ?? "The server did not take this token.";
}

/** Nothing that was read with the token stays in the page. */
export function signOut(): void {
  forgetToken();
  unfollow();
  forgetAnswers();
  session.set({});
  signedOut.set({ refused: false, message: "You have signed out." });
}

/** Whether this person is shown buttons; the server decides for itself. */
export const mayWrite = ({ role, readOnly }: Me): boolean => role !== "read" && !readOnly;
