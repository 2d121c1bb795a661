import { useState } from "preact/hooks";
import { Icon } from "./icon.tsx";

/** Copies the text and confirms it. If the page may not use the clipboard, it shows the text for selection. */
export function CopyButton({ text, what }: { readonly text: string; readonly what: string }) {
  const [done, setDone] = useState<"copied" | "refused">();
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setDone("copied");
    } catch {
      setDone("refused");
    }
    setTimeout(() => setDone(undefined), 3_000);
  };
  return (
    <button type="button" class="button small" onClick={copy} aria-label={`Copy ${what}`}>
      <Icon name={done === "copied" ? "check" : "copy"} />{" "}
      <span aria-live="polite">{done === "copied" ? "Copied" : done === "refused" ? "Select it and copy by hand" : "Copy"}</span>
    </button>
  );
}
