import { createHash } from "node:crypto";
import { openPostgresEngine } from "../../src/engines/postgres/postgres-engine.ts";
import { sharedPostgres } from "../support/servers/fresh-url.ts";
import { describeStore } from "./conformance/describe-store.ts";
import type { OpenEngine } from "./conformance/fixture.ts";
import { describeHistories } from "./histories.ts";

/** The folder stands for the store: opened there again, it is the same schema. */
const schemaOf = (folder: string): string => `test_${createHash("sha256").update(folder).digest("hex").slice(0, 24)}`;

const open: OpenEngine = async (clock, folder) => openPostgresEngine({ url: `${await sharedPostgres()}?schema=${schemaOf(folder)}`, timeSource: clock });

describeStore("postgres", open, { durable: true });
describeHistories("postgres", open);
