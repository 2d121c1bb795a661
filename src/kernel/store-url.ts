/** The schemes of store URLs, each with an example of the whole URL. */
const forms = {
  sqlite: "sqlite:PATH",
  postgres: "postgres://USER@HOST:5432/DATABASE",
  postgresql: undefined,
  redis: "redis://HOST:6379/0",
  rediss: undefined,
  "redis+sentinel": "redis+sentinel://HOST:26379/NAME",
  "rediss+sentinel": undefined,
  "redis+cluster": "redis+cluster://HOST:7000,HOST:7001",
  "rediss+cluster": undefined,
  memory: "memory:",
} as const;

export type StoreScheme = keyof typeof forms;

/** Every form once, for messages. */
export const storeForms = Object.values(forms)
  .filter((form) => form !== undefined)
  .join(", ")
  .replace(/, (?=[^,]*$)/, " or ");

export function schemeOf(url: string): StoreScheme | undefined {
  const scheme = /^([a-z]+(?:\+[a-z]+)?):/.exec(url)?.[1];
  return scheme !== undefined && Object.hasOwn(forms, scheme) ? (scheme as StoreScheme) : undefined;
}

/** A first check that needs no engine; the engine checks the rest. */
export function storeProblem(url: string): string | undefined {
  const scheme = schemeOf(url);
  if (scheme === undefined || (scheme === "sqlite" && url.length === "sqlite:".length)) return `must be ${storeForms}`;
  if (scheme !== "sqlite" && scheme !== "memory" && !/^[a-z+]+:\/\/[^/?#]/.test(url))
    return `needs a host: ${forms[scheme] ?? forms[scheme.replace("rediss", "redis").replace("sql", "") as StoreScheme]}`;
  return undefined;
}

/**
 * The URL without password and settings, so that it can be shown, logged and stored. A password may
 * contain any character, so everything up to the last @ is removed, except for the user.
 */
export function shownUrl(url: string): string {
  const [, start = "", rest = ""] = /^([a-z+]+:\/\/)(.*)$/s.exec(url) ?? [];
  if (start === "") return url;
  // The @ may end a password or be part of a setting. Since that is unclear, nothing after the scheme is shown.
  const settings = rest.search(/[?#]/);
  if (settings >= 0 && rest.includes("@", settings)) return `${start}…`;
  const at = rest.lastIndexOf("@");
  const user = at < 0 ? "" : (rest.slice(0, at).split(":")[0] as string);
  const address = rest.slice(at + 1).replace(/[?#].*$/s, "");
  return `${start}${user === "" ? "" : `${user}@`}${address}`;
}

/** Settings that select one of several stores on the same server. */
const addressSettings = ["schema", "prefix"];

/** The store's address, safe to show, store and compare. Unlike `shownUrl`, it distinguishes two stores on one server. */
export function storeAddress(url: string): string {
  const shown = shownUrl(url);
  if (shown === url) return url;
  const settings = new URLSearchParams(/\?([^#]*)/.exec(url.slice(url.lastIndexOf("@") + 1))?.[1] ?? "");
  const kept = addressSettings.flatMap((name) => settings.getAll(name).map((value) => `${name}=${encodeURIComponent(value).replaceAll("%3A", ":")}`));
  return kept.length === 0 ? shown : `${shown}?${kept.join("&")}`;
}

export const hasPassword = (url: string): boolean => /:./s.test(/^[a-z+]+:\/\/([^@]*)@/.exec(url)?.[1] ?? "") || /[?&][a-z_]*password=/i.test(url);
