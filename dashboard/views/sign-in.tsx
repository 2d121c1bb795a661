import { useEffect, useRef, useState } from "preact/hooks";
import { useCell } from "../cell.ts";
import { signedOut } from "../data/credential.ts";
import { signIn } from "../data/session.ts";
import { FieldInput } from "../parts/field.tsx";
import { Mark } from "../parts/mark.tsx";

export function SignInView() {
  const out = useCell(signedOut);
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState<string>();
  const [busy, setBusy] = useState(false);
  const box = useRef<HTMLInputElement>(null);
  // The page has no other purpose; pasting replaces a rejected token.
  useEffect(() => {
    box.current?.focus();
    box.current?.select();
  }, [problem]);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    setProblem(undefined);
    setProblem(token.trim() === "" ? "Paste a token first." : await signIn(token.trim()));
    setBusy(false);
  };
  return (
    <main class="sign-in">
      <form class="sign-in-card" onSubmit={submit} noValidate>
        <Mark />
        <h1>Holdfast</h1>
        <p class="lead">{out?.refused === true && problem === undefined ? "Your token is no longer valid: it expired or was revoked." : "This server requires a token."}</p>
        <FieldInput label="Token" hint="It stays in this tab and is forgotten when you close it." error={problem}>
          {(ids) => <input {...ids} ref={box} type="password" autocomplete="off" spellcheck={false} value={token} onInput={(event) => setToken(event.currentTarget.value)} />}
        </FieldInput>
        <button type="submit" class="button primary" aria-disabled={busy}>
          {busy ? "Signing in…" : "Sign in"}
        </button>
        <p class="muted">
          An administrator makes one with <code>holdfast token create --name you --role read</code>, or here under Tokens.
        </p>
      </form>
    </main>
  );
}
