import { cell } from "./cell.ts";

export const namespaceViews = ["overview", "runs", "leases", "effects", "keys", "journal", "knowledge", "research", "activity", "search", "try", "health"] as const;
export type NamespaceView = (typeof namespaceViews)[number];
export type View = NamespaceView | "tokens" | "home" | "unknown";

export interface PageRoute {
  readonly view: View;
  readonly namespace?: string;
  /** The single item that is shown: a run, a key, a note. */
  readonly id?: string;
  readonly query: URLSearchParams;
}

/** A browser resolves `.` and `..` in a path even if they are encoded; a leading tilde keeps them as names. */
const encodePart = (part: string): string => (/^~*\.{1,2}$/.test(part) ? `~${part}` : encodeURIComponent(part));
const decodePart = (part: string): string => {
  try {
    const text = decodeURIComponent(part);
    return /^~+\.{1,2}$/.test(text) ? text.slice(1) : text;
  } catch {
    return part;
  }
};

type Query = Readonly<Record<string, string | undefined>>;

export function hrefOf(namespace: string, view: NamespaceView, id?: string, query: Query = {}): string {
  const parts = ["", "ns", encodePart(namespace), ...(view === "overview" ? [] : [view]), ...(id === undefined ? [] : [encodePart(id)])];
  const fields = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined && value !== "") fields.set(name, value);
  return parts.join("/") + (fields.size === 0 ? "" : `?${fields}`);
}

export function parseRoute({ pathname, search }: Pick<Location, "pathname" | "search">): PageRoute {
  const query = new URLSearchParams(search);
  const [first, ...rest] = pathname.split("/").filter((part) => part !== "");
  if (first === undefined) return { view: "home", query };
  if (first === "tokens" && rest.length === 0) return { view: "tokens", query };
  const [namespace, view = "overview", ...id] = rest;
  if (first !== "ns" || namespace === undefined || !namespaceViews.some((known) => known === view)) return { view: "unknown", query };
  // A proxy may have decoded the slashes in an id.
  return { view: view as NamespaceView, namespace: decodePart(namespace), id: id.length === 0 ? undefined : id.map(decodePart).join("/"), query };
}

export const route = cell<PageRoute>(parseRoute(location));

/** Scroll positions by entry of the browser's history. */
const scrolled = new Map<string, number>();
const entryKey = (): string => (history.state as { key?: string } | null)?.key ?? "first";
/** Set while going back or forward: the view restores the scroll position once it has content. */
export let scrollBackTo: number | undefined;
export const scrolledBack = (): void => {
  scrollBackTo = undefined;
};

export function navigate(href: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  scrolled.set(entryKey(), scrollY);
  if (replace) history.replaceState(history.state, "", href);
  else history.pushState({ key: crypto.randomUUID?.() ?? String(performance.now()) }, "", href);
  scrollBackTo = undefined;
  const before = route.get();
  const after = parseRoute(location);
  route.set(after);
  if (!replace && (before.view !== after.view || before.id !== after.id || before.namespace !== after.namespace)) scrollTo(0, 0);
}

/** The same page with other filters. Adds no history entry: otherwise every key press would add one. */
export function refine(query: Query): void {
  const { namespace, view, id, query: before } = route.get();
  const fields = Object.fromEntries(before);
  navigate(namespace === undefined ? location.pathname : hrefOf(namespace, view as NamespaceView, id, { ...fields, ...query }), { replace: true });
}

export function startRouter(): void {
  history.scrollRestoration = "manual";
  let leaving = entryKey();
  addEventListener("scroll", () => {
    leaving = entryKey();
  });
  addEventListener("popstate", () => {
    scrolled.set(leaving, scrollY);
    scrollBackTo = scrolled.get(entryKey());
    leaving = entryKey();
    route.set(parseRoute(location));
  });
  // Plain links everywhere, so that modifier keys keep their usual effect in the browser.
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || !(event.target instanceof Element)) return;
    const link = event.target.closest("a");
    if (link === null || link.origin !== location.origin || link.target !== "" || link.hasAttribute("download") || link.getAttribute("href")?.startsWith("#") !== false) return;
    event.preventDefault();
    navigate(link.pathname + link.search);
  });
}
