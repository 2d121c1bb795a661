/** What stands before the colon of a store's URL, and how the whole looks. */
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

/** For messages: every form once. */
export const storeForms = Object.values(forms)
  .filter((form) => form !== undefined)
  .join(", ")
  .replace(/, (?=[^,]*$)/, " or ");

export function schemeOf(url: string): StoreScheme | undefined {
  const scheme = /^([a-z]+(?:\+[a-z]+)?):/.exec(url)?.[1];
  return scheme !== undefined && Object.hasOwn(forms, scheme) ? (scheme as StoreScheme) : undefined;
}

/** A first look that needs no engine; the engine reads the rest. */
export function storeProblem(url: string): string | undefined {
  const scheme = schemeOf(url);
  if (scheme === undefined || (scheme === "sqlite" && url.length === "sqlite:".length)) return `must be ${storeForms}`;
  if (scheme !== "sqlite" && scheme !== "memory" && !/^[a-z+]+:\/\/[^/?#]/.test(url))
    return `needs a host: ${forms[scheme] ?? forms[scheme.replace("rediss", "redis").replace("sql", "") as StoreScheme]}`;
  return undefined;
}

/** A store's URL as it may be shown, logged and stored: without password and without settings. A password may hold any character, so all up to the last @ counts as it. */
export function shownUrl(url: string): string {
  const [, start = "", rest = ""] = /^([a-z+]+:\/\/)(.*)$/s.exec(url) ?? [];
  if (start === "") return url;
  // Whether such an @ ends a password or belongs to a setting cannot be told: then nothing of it is shown.
  const settings = rest.search(/[?#]/);
  if (settings >= 0 && rest.includes("@", settings)) return `${start}…`;
  const at = rest.lastIndexOf("@");
  const user = at < 0 ? "" : (rest.slice(0, at).split(":")[0] as string);
  const address = rest.slice(at + 1).replace(/[?#].*$/s, "");
  return `${start}${user === "" ? "" : `${user}@`}${address}`;
}

/** The settings that say which of several stores in one place is meant. */
const addressSettings = ["schema", "prefix"];

/** Where a store is, as it may be shown, stored and compared: as above, but two stores in one server stay two. */
export function storeAddress(url: string): string {
  const shown = shownUrl(url);
  if (shown === url) return url;
  const settings = new URLSearchParams(/\?([^#]*)/.exec(url.slice(url.lastIndexOf("@") + 1))?.[1] ?? "");
  const kept = addressSettings.flatMap((name) => settings.getAll(name).map((value) => `${name}=${encodeURIComponent(value).replaceAll("%3A", ":")}`));
  return kept.length === 0 ? shown : `${shown}?${kept.join("&")}`;
}

export const hasPassword = (url: string): boolean => /:./s.test(/^[a-z+]+:\/\/([^@]*)@/.exec(url)?.[1] ?? "") || /[?&][a-z_]*password=/i.test(url);
