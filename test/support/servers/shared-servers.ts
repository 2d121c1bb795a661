import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestProject } from "vitest/node";
import { startPostgres } from "./postgres-server.ts";
import { quickRoot } from "./quick-root.ts";
import { startRedis } from "./redis-server.ts";

declare module "vitest" {
  interface ProvidedContext {
    readonly sharedServersPort: number;
  }
}

interface SharedServer extends Partial<AsyncDisposable> {
  readonly url: string;
}

const given = (variable: string): SharedServer | undefined => {
  const url = process.env[variable];
  return url === undefined || url === "" ? undefined : { url };
};

const starters: Readonly<Record<string, () => Promise<SharedServer>>> = {
  redis: async () => given("HOLDFAST_TEST_REDIS_URL") ?? startRedis({ root: await quickRoot() }),
  postgres: async () =>
    // Two test files at once, some with a dozen processes, each with connections of its own.
    given("HOLDFAST_TEST_POSTGRES_URL") ?? startPostgres({ settings: { max_connections: "300" }, root: await quickRoot() }),
};

/**
 * Vitest's global set-up: one Redis and one PostgreSQL per run, each started when a test first asks for it and ended with the run.
 * Test files run in processes of their own and ask over loopback; whoever needs none waits for none.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const started = new Map<string, Promise<SharedServer>>();
  const door = createServer((request, response) => {
    const name = (request.url ?? "").slice(1);
    const start = starters[name];
    if (start === undefined) return void response.writeHead(404).end(`No shared server is called ${name}.`);
    const server = started.get(name) ?? start();
    started.set(name, server);
    server.then(
      ({ url }) => response.end(url),
      (error: Error & { readonly stderr?: string }) => response.writeHead(500).end(error.stderr || error.message),
    );
  });
  door.listen(0, "127.0.0.1").unref();
  await once(door, "listening");
  project.provide("sharedServersPort", (door.address() as AddressInfo).port);
  return async () => {
    door.close();
    await Promise.all([...started.values()].map(async (server) => (await server.catch(() => undefined))?.[Symbol.asyncDispose]?.()));
  };
}
