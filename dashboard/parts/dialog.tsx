import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { ApiFailure } from "../data/api-client.ts";
import { asFailure } from "../data/api-client.ts";
import { Icon } from "./icon.tsx";

interface DialogProps {
  readonly title: string;
  readonly wide?: boolean;
  onClose(): void;
  readonly children: ComponentChildren;
}

/** The browser's own modal dialog: it keeps the focus inside, closes with Escape and restores the focus. */
export function Dialog({ title, wide = false, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const dialog = element.current;
    const before = document.activeElement;
    dialog?.showModal();
    // Focus the first input; without one, the first button of the footer, which cancels.
    const first = dialog?.querySelector<HTMLElement>(".dialog-body :is(input, textarea, select), .dialog-foot button");
    first?.focus();
    if (first instanceof HTMLTextAreaElement) first.setSelectionRange(0, 0);
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={wide ? "dialog wide" : "dialog"}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <header class="dialog-head">
        <h2 id={heading}>{title}</h2>
        <button type="button" class="button quiet icon-only" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      {children}
    </dialog>
  );
}

interface ConfirmProps {
  readonly title: string;
  /** What will happen, and to whom. */
  readonly children: ComponentChildren;
  /** The verb on the confirm button. */
  readonly action: string;
  readonly danger?: boolean;
  /** The label of the cancel button. */
  readonly dismiss?: string;
  readonly wide?: boolean;
  /** What is still missing before the action is possible. */
  readonly needs?: string;
  /** Returns undefined on success, otherwise the reason for the failure, for the user. */
  act(): Promise<ComponentChildren | undefined>;
  onClose(): void;
}

/** Asks for confirmation. If the action fails, it stays open and shows the reason. */
export function Confirm({ title, children, action, danger = false, dismiss = "Keep as it is", wide, needs, act, onClose }: ConfirmProps) {
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<ComponentChildren>();
  const needsId = useId();
  const submit = async (event: Event) => {
    event.preventDefault();
    if (busy || needs !== undefined) return;
    setBusy(true);
    setRefusal(undefined);
    try {
      const refused = await act();
      if (refused === undefined) onClose();
      else setRefusal(refused);
    } catch (error) {
      setRefusal(<FailureText error={asFailure(error)} />);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} wide={wide} onClose={onClose}>
      <form onSubmit={submit} noValidate>
        <div class="dialog-body">
          {children}
          <div role="alert">{refusal !== undefined && <div class="banner bad">{refusal}</div>}</div>
        </div>
        <footer class="dialog-foot">
          <p class="dialog-needs" id={needsId} role="status">
            {needs}
          </p>
          <button type="button" class="button" onClick={onClose}>
            {dismiss}
          </button>
          {/* Not disabled, so that it stays reachable by keyboard and can say what is missing. */}
          <button type="submit" class={danger ? "button danger" : "button primary"} aria-disabled={busy || needs !== undefined} aria-describedby={needsId}>
            {busy ? "Working…" : action}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

export function FailureText({ error }: { readonly error: ApiFailure }) {
  return (
    <span>
      {error.message} {error.advice}
    </span>
  );
}
