import { randomUUID } from "node:crypto";
import { inject } from "vitest";

/** The run's Redis, with keys of other tests in it; `freshRedisUrl` for a place of one's own. To be killed, a server must be the test's own: `startRedis`. */
export const sharedRedis = (): Promise<string> => ask("redis");
/** The run's PostgreSQL; see `sharedRedis`. */
export const sharedPostgres = (): Promise<string> => ask("postgres");

/** A store that nobody has used, on the run's Redis: a prefix of its own. */
export const freshRedisUrl = async (): Promise<string> => patient(withParameter(await sharedRedis(), "prefix", freshName()));

/** A store that nobody has used, on the run's PostgreSQL: a schema of its own. */
export const freshPostgresUrl = async (): Promise<string> => patient(withParameter(await sharedPostgres(), "schema", freshName()));

/** A deadline that no machine is too slow for. Tests about deadlines have a server of their own. */
const patient = (url: string): string => withParameter(url, "deadline", "10m");

const freshName = (): string => `test_${randomUUID().replaceAll("-", "").slice(0, 16)}`;

/** By hand: the URL of a cluster names several hosts, which the URL class refuses. */
export const withParameter = (url: string, name: string, value: string): string => `${url}${url.includes("?") ? "&" : "?"}${name}=${value}`;

const asked = new Map<string, Promise<string>>();

function ask(name: "redis" | "postgres"): Promise<string> {
  const known = asked.get(name) ?? request(name);
  asked.set(name, known);
  return known;
}

async function request(name: string): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${inject("sharedServersPort")}/${name}`);
  const text = await answer.text();
  if (!answer.ok) throw new Error(text);
  return text;
}
