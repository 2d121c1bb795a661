import type { SqlDatabase } from "../../engines/sqlite/driver.ts";
import type { Json, JsonObject } from "../../kernel/json.ts";
import { countRows, readDatabaseCopy, rowsOf } from "./database-copy.ts";
import { isObject, parseJson, textOf } from "./parse-json.ts";
import type { Found, FoundRecord, LeftBehind, Problem, Reading } from "./reading.ts";

type Row = Readonly<Record<string, unknown>>;
type Read = { readonly found: Found } | { readonly reason: string };

/** Reads the sidecar's tables kv_store, workflows with step_outputs, and sessions. Leases and history are not imported. */
export function readSidecar(path: string): Promise<Reading> {
  return readDatabaseCopy(path, (database) => {
    const records: FoundRecord[] = [];
    const problems: Problem[] = [];
    const steps = readSteps(database, problems);
    const take = (table: string, columns: readonly string[], orderBy: string, name: (row: Row) => string, read: (row: Row) => Read): void => {
      const { rows, problem } = rowsOf(database, table, columns, orderBy);
      if (problem !== undefined) problems.push(problem);
      for (const row of rows) {
        const result = read(row);
        if ("reason" in result) problems.push({ where: name(row), reason: result.reason });
        else records.push({ ...result.found, where: name(row) });
      }
    };
    take("kv_store", ["key", "value_json", "expires_at"], "key", ({ key }) => `key ${String(key)}`, stateOf);
    take("sessions", ["session_id", "context_json"], "session_id", ({ session_id }) => `session ${String(session_id)}`, sessionOf);
    take(
      "workflows",
      ["run_id", "name", "status", "tags_json", "agent_id", "last_step", "created_at"],
      "created_at, run_id",
      ({ run_id }) => `workflow ${String(run_id)}`,
      (row) => runOf(row, steps.get(String(row.run_id)) ?? []),
    );
    return { source: "sidecar", records, problems, leftBehind: leftBehind(database) };
  });
}

function stateOf({ key, value_json, expires_at }: Row): Read {
  const parsed = parseJson(value_json);
  if (typeof key !== "string") return { reason: "its key is not text" };
  if ("reason" in parsed) return parsed;
  return { found: { kind: "state", state: { key, value: parsed.value, ...(typeof expires_at === "number" ? { expiresAtMs: Math.ceil(expires_at * 1_000) } : {}) } } };
}

function sessionOf({ session_id, context_json }: Row): Read {
  const parsed = parseJson(context_json);
  if (typeof session_id !== "string") return { reason: "its id is not text" };
  if ("reason" in parsed) return parsed;
  if (!isObject(parsed.value)) return { reason: "its context is not an object" };
  return { found: { kind: "session", session: { sessionId: session_id, context: parsed.value as JsonObject } } };
}

interface Step {
  readonly step: number;
  readonly output: Json;
}

function readSteps(database: SqlDatabase, problems: Problem[]): ReadonlyMap<string, readonly Step[]> {
  const byRun = new Map<string, Step[]>();
  const { rows, problem } = rowsOf(database, "step_outputs", ["run_id", "step", "output_json"], "run_id, step");
  if (problem !== undefined) problems.push(problem);
  for (const { run_id, step, output_json } of rows) {
    const parsed = parseJson(output_json);
    const reason =
      "reason" in parsed ? parsed.reason : typeof step === "number" && Number.isSafeInteger(step) && step >= 0 ? undefined : "its number is not a whole number, 0 or more";
    if (reason !== undefined || !("value" in parsed)) {
      problems.push({ where: `workflow ${String(run_id)} step ${String(step)}`, reason: reason ?? "its value is not JSON" });
      continue;
    }
    const steps = byRun.get(String(run_id)) ?? [];
    steps.push({ step: step as number, output: parsed.value });
    byRun.set(String(run_id), steps);
  }
  return byRun;
}

/** Claims in the sidecar never expire, so a live claim cannot be distinguished from an abandoned one: the run becomes claimable. */
const statuses = { created: "created", claimed: "created", running: "running", done: "done", failed: "failed", cancelled: "cancelled" } as const;

function runOf({ run_id, name, status, tags_json, agent_id, last_step, created_at }: Row, steps: readonly Step[]): Read {
  if (typeof run_id !== "string" || typeof name !== "string") return { reason: "its id or name is not text" };
  if (typeof created_at !== "number") return { reason: "its time is not a number" };
  if (typeof status !== "string" || !Object.hasOwn(statuses, status)) return { reason: `its status ${JSON.stringify(status)} is not one of ${Object.keys(statuses).join(", ")}` };
  const tags = parseJson(tags_json);
  if ("reason" in tags || !isObject(tags.value) || Object.values(tags.value).some((tag) => typeof tag !== "string")) return { reason: "its tags are not an object of strings" };
  const formerAgent = textOf(agent_id);
  return {
    found: {
      kind: "run",
      run: {
        runId: run_id,
        name,
        tags: tags.value as Record<string, string>,
        status: statuses[status as keyof typeof statuses],
        createdAtMs: Math.floor(created_at * 1_000),
        lastStep: Math.max(typeof last_step === "number" && Number.isSafeInteger(last_step) ? last_step : 0, ...steps.slice(-1).map(({ step }) => step)),
        steps,
        ...(formerAgent === undefined ? {} : { formerAgent }),
      },
    },
  };
}

function leftBehind(database: SqlDatabase): LeftBehind[] {
  const kinds = [
    { what: "leases", table: "leases", reason: "Leases granted by one server are not valid in another; agents acquire them again, with fencing tokens." },
    { what: "history records", table: "history", reason: "Holdfast's history starts with the import; the sidecar's history stays readable in its own file." },
  ];
  return kinds.flatMap(({ what, table, reason }) => {
    const count = countRows(database, table);
    return count === 0 ? [] : [{ what, count, reason }];
  });
}
