import pg from "pg";
import { afterAll, beforeAll, onTestFinished } from "vitest";
import { openPostgresEngine } from "../../src/engines/postgres/postgres-engine.ts";
import { writtenTables } from "../../src/engines/postgres/schema.ts";
import { freshPostgresUrl } from "../support/servers/fresh-url.ts";
import { describeStore } from "./conformance/describe-store.ts";
import type { OpenEngine } from "./conformance/fixture.ts";
import { describeHistories } from "./histories.ts";

/**
 * A new schema costs PostgreSQL as much as a hundred commits. What a test has used is handed to the next one, emptied: nothing else distinguishes a store
 * that was used from a new one.
 */
const free: string[] = [];
/** The folder stands for the store: opened there again, it is the same schema. */
const storeOf = new Map<string, string>();
let cleaner: pg.Client;
beforeAll(async () => {
  cleaner = new pg.Client((await freshPostgresUrl()).replace(/\?.*/, ""));
  await cleaner.connect();
});
afterAll(() => cleaner.end());

async function takeStore(folder: string): Promise<string> {
  const url = free.pop() ?? (await freshPostgresUrl());
  storeOf.set(folder, url);
  onTestFinished(async () => {
    const schema = new URL(url).searchParams.get("schema");
    await cleaner.query(writtenTables.map((table) => `DELETE FROM "${schema}".${table}`).join("; "));
    free.push(url);
  });
  return url;
}

const open: OpenEngine = async (clock, folder) => openPostgresEngine({ url: storeOf.get(folder) ?? (await takeStore(folder)), timeSource: clock });

describeStore("postgres", open, { durable: true });
describeHistories("postgres", open);
