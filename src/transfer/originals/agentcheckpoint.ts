import { readDatabaseCopy, rowsOf } from "./database-copy.ts";
import { parseJson } from "./parse-json.ts";
import type { FoundRecord, Problem, Reading } from "./reading.ts";

/** AgentCheckpoint has one table, `checkpoints(key, value, version, updated_at)`, with values as JSON text. */
export function readAgentCheckpoint(path: string): Promise<Reading> {
  return readDatabaseCopy(path, (database) => {
    const records: FoundRecord[] = [];
    const problems: Problem[] = [];
    const { rows, problem } = rowsOf(database, "checkpoints", ["key", "value"], "key");
    if (problem !== undefined) problems.push(problem);
    for (const { key, value } of rows) {
      const where = `key ${String(key)}`;
      const parsed = parseJson(value);
      if (typeof key !== "string") problems.push({ where, reason: "its key is not text" });
      else if ("reason" in parsed) problems.push({ where, reason: parsed.reason });
      else records.push({ kind: "state", where, state: { key, value: parsed.value } });
    }
    return { source: "agentcheckpoint", records, problems, leftBehind: [] };
  });
}
