import { afterAll, beforeAll } from "vitest";
import type { PostgresServer } from "./postgres-server.ts";
import { startPostgres } from "./postgres-server.ts";

/** A server for one file of tests alone, which may kill and change it. Each test asks for a store of its own in it. */
export class OwnPostgres {
  #server: PostgresServer | undefined;
  #stores = 0;

  constructor() {
    beforeAll(async () => {
      this.#server = await startPostgres();
    });
    afterAll(() => this.#server?.[Symbol.asyncDispose]());
  }

  get server(): PostgresServer {
    if (this.#server === undefined) throw new Error("The server runs while tests do.");
    return this.#server;
  }

  /** The schema of the store that was asked for last. */
  get schema(): string {
    return `own_${this.#stores}`;
  }

  freshUrl(query = ""): string {
    this.#stores += 1;
    return `${this.server.url}?schema=${this.schema}${query}`;
  }
}
