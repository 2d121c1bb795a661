import { cell } from "../cell.ts";

/** How far the server's clock is ahead of this machine's. Countdowns use the server's clock. */
let aheadMs = 0;

export function noteServerTime(nowMs: number): void {
  aheadMs = nowMs - Date.now();
}

export const serverNowMs = (): number => Date.now() + aheadMs;

/** Ticks every second while the page is visible. */
export const tick = cell(0);
setInterval(() => {
  if (document.visibilityState === "visible") tick.set(tick.get() + 1);
}, 1_000);
document.addEventListener("visibilitychange", () => tick.set(tick.get() + 1));
