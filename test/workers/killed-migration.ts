import { migrations } from "../../src/engines/sqlite/schema.ts";
import { openSqliteEngine } from "../../src/engines/sqlite/sqlite-engine.ts";
import { openWorkerPort } from "../support/worker-port.ts";

/** Migrates a store and is killed in the last moment before the change would be committed. */
const port = openWorkerPort();
const { path } = await port.next<{ path: string }>();
const killed = (): void => {
  port.send({ migrated: true });
  process.kill(process.pid, "SIGKILL");
};
// The kill is one more step: nothing is committed between steps.
await openSqliteEngine({ path, migrations: [...migrations, killed] });
