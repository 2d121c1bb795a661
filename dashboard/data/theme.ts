import { cell } from "../cell.ts";

/** auto: the system's theme. */
export const themes = ["auto", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

const root = document.documentElement;
export const theme = cell<Theme>(root.dataset.theme === "light" || root.dataset.theme === "dark" ? root.dataset.theme : "auto");

export function setTheme(next: Theme): void {
  if (next === "auto") delete root.dataset.theme;
  else root.dataset.theme = next;
  try {
    if (next === "auto") localStorage.removeItem("holdfast-theme");
    else localStorage.setItem("holdfast-theme", next);
  } catch {
    // Storage is disabled: the choice lasts until the page is closed.
  }
  theme.set(next);
}
