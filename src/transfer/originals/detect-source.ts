import { open, stat } from "node:fs/promises";
import { HoldfastError, invalidInput } from "../../kernel/errors.ts";
import { readDatabaseCopy, tablesOf } from "./database-copy.ts";
import { parseYaml, splitFrontMatter } from "./front-matter.ts";
import { isMemoryMatter } from "./goldfish-memories.ts";
import { isObject } from "./parse-json.ts";
import type { SourceName } from "./reading.ts";
import { sourceNames } from "./reading.ts";
import type { FoundFile } from "./walk-folder.ts";
import { readTextFile, walkFolder } from "./walk-folder.ts";

/** The most files to inspect. */
const looksMax = 500;

/** Determines the system that wrote these files by their content; names of files and folders are only conventions. */
export async function detectSource(path: string): Promise<SourceName> {
  if ((await stat(path)).isFile() && (await isDatabase(path))) return detectDatabase(path);
  const seen = new Set<SourceName>();
  for (const file of (await walkFolder(path, [".json", ".yaml", ".yml", ".md"], [])).slice(0, looksMax)) {
    const read = await readTextFile(file.path);
    const source = "text" in read ? detectText(file, read.text) : undefined;
    if (source !== undefined) seen.add(source);
  }
  const [only, ...others] = seen;
  if (only === undefined) throw unknown("<path>: contains nothing that can be imported");
  if (others.length > 0) throw unknown(`<path>: it has files of ${[...seen].join(" and ")}`);
  return only;
}

const unknown = (message: string): HoldfastError =>
  new HoldfastError("invalid_input", message, { hint: `Choose one with --from: ${sourceNames.join(", ")}.`, details: { field: "<path>" } });

async function isDatabase(path: string): Promise<boolean> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(16), 0, 16, 0);
    return bytesRead === 16 && buffer.toString("latin1") === "SQLite format 3\0";
  } finally {
    await file.close();
  }
}

async function detectDatabase(path: string): Promise<SourceName> {
  const tables = await readDatabaseCopy(path, tablesOf);
  if (tables.has("kv_store") && tables.has("workflows")) return "sidecar";
  if (tables.has("checkpoints")) return "agentcheckpoint";
  throw invalidInput("<path>", "is a database of neither AgentCheckpoint (table checkpoints) nor the sidecar (tables kv_store, workflows)");
}

function detectText({ name }: FoundFile, text: string): SourceName | undefined {
  if (name.endsWith(".json")) return isGoldfish(text) ? "goldfish" : undefined;
  const { matter } = splitFrontMatter(text);
  if (name.endsWith(".md") && matter === undefined) return undefined;
  const parsed = parseYaml(matter ?? text, "1.1");
  if ("reason" in parsed) return undefined;
  const { format, checkpoint, items, type } = parsed.fields;
  if (typeof format === "string" && format.startsWith("holdfast-")) return "mirror";
  if (matter !== undefined && isMemoryMatter(parsed.fields)) return "goldfish";
  const isSage = matter === undefined ? isObject(checkpoint) || Array.isArray(items) : typeof type === "string";
  return isSage ? "sage" : undefined;
}

function isGoldfish(text: string): boolean {
  try {
    const memory: unknown = JSON.parse(text);
    if (!isObject(memory)) return false;
    return isMemoryMatter(memory) || (typeof memory.workspace === "string" && (typeof memory.type === "string" || Array.isArray(memory.items)));
  } catch {
    return false;
  }
}
