import { cell, useCell } from "../cell.ts";
import { visibleText } from "./stored-text.tsx";

interface Notice {
  readonly id: number;
  readonly text: string;
}

const notices = cell<readonly Notice[]>([]);
const shownMs = 6_000;
let count = 0;

/** Briefly confirms an action. */
export function announce(text: string): void {
  count += 1;
  const notice = { id: count, text };
  notices.set([...notices.get().slice(-2), notice]);
  setTimeout(() => notices.set(notices.get().filter(({ id }) => id !== notice.id)), shownMs);
}

export function Notices() {
  const shown = useCell(notices);
  return (
    <div class="notices" role="status" aria-live="polite">
      {shown.map(({ id, text }) => (
        <p key={id} class="notice">
          <bdi>{visibleText(text)}</bdi>
        </p>
      ))}
    </div>
  );
}
