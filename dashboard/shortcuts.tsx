import { useEffect, useState } from "preact/hooks";
import { Dialog } from "./parts/dialog.tsx";
import type { NamespaceView } from "./router.ts";
import { hrefOf, navigate } from "./router.ts";

/** After `g`. */
const places: readonly (readonly [letter: string, view: NamespaceView, name: string])[] = [
  ["o", "overview", "Overview"],
  ["r", "runs", "Runs"],
  ["l", "leases", "Leases"],
  ["k", "keys", "Keys"],
  ["j", "journal", "Journal"],
  ["n", "knowledge", "Knowledge"],
  ["a", "activity", "Activity"],
  ["h", "health", "Health"],
];
/** How long `g` waits for its letter. */
const secondKeyMsMax = 1_500;

const others: readonly (readonly [keys: string, does: string])[] = [
  ["/", "Go to the search box"],
  ["Ctrl K, ⌘ K", "Search as you type"],
  ["↑ ↓ Home End", "Move between the rows of a list"],
  ["Enter", "Open"],
  ["Escape", "Close a dialog or the menu"],
  ["?", "Show these keys"],
];

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName) || target.closest("dialog") !== null);

/** Marks the search box of the page. */
export const searchBoxMark = { "data-search": "" } as const;

function toSearchBox(): void {
  const box = document.querySelector<HTMLInputElement>("input[data-search]");
  box?.focus();
  box?.select();
}

/** The keys that work on every page, and the list of them. */
export function Shortcuts({ namespace }: { readonly namespace: string }) {
  const [shown, setShown] = useState(false);
  useEffect(() => {
    let goingSinceMs = Number.NEGATIVE_INFINITY;
    const press = (event: KeyboardEvent): void => {
      const act = actionOf(event);
      if (act === undefined) return;
      event.preventDefault();
      act();
    };
    const actionOf = (event: KeyboardEvent): (() => void) | undefined => {
      const { key } = event;
      const isOpen = document.querySelector("dialog[open]") !== null;
      if ((event.ctrlKey || event.metaKey) && !event.altKey && key.toLowerCase() === "k" && !isOpen) return () => navigate(hrefOf(namespace, "search"));
      if (isTyping(event.target) || isOpen || event.ctrlKey || event.metaKey || event.altKey) return undefined;
      const isSecond = event.timeStamp - goingSinceMs < secondKeyMsMax;
      goingSinceMs = key === "g" ? event.timeStamp : Number.NEGATIVE_INFINITY;
      const place = isSecond ? places.find(([letter]) => letter === key) : undefined;
      if (place !== undefined) return () => navigate(hrefOf(namespace, place[1]));
      if (key === "/") return toSearchBox;
      return key === "?" ? () => setShown(true) : undefined;
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [namespace]);
  if (!shown) return null;
  return (
    <Dialog title="Keys" onClose={() => setShown(false)}>
      <div class="dialog-body">
        <dl class="keys">
          {[...others, ...places.map(([letter, , name]) => [`g ${letter}`, `Go to ${name}`] as const)].map(([keys, does]) => (
            <div key={keys}>
              <dt>
                <kbd>{keys}</kbd>
              </dt>
              <dd>{does}</dd>
            </div>
          ))}
        </dl>
      </div>
    </Dialog>
  );
}
