import { basename, dirname, join } from "node:path/posix";
import { parseSync } from "oxc-parser";

/** What a folder may import: other folders of src, and npm packages. `"anything"` is for the files that put the product together. */
export interface FolderRule {
  readonly folders: readonly string[] | "anything";
  readonly packages: readonly string[] | "anything";
}

export interface Laws {
  /** By folder below src; a file directly in src has its own row, under its name. */
  readonly folders: Readonly<Record<string, FolderRule>>;
  /** Folders that are given their time and their randomness. */
  readonly clockless: readonly string[];
  /** Folders that are given one namespace at a time, and never the engine of them all. */
  readonly withoutEngine: readonly string[];
  /** Folders in which no value is taken for another type unseen. */
  readonly checksWhatItReads: readonly string[];
  readonly readsEnvironment: string;
  readonly publicBarrels: readonly string[];
}

export interface SourceFile {
  /** Below src, with forward slashes. */
  readonly path: string;
  readonly source: string;
}

interface Node {
  readonly type: string;
  readonly [field: string]: unknown;
}

const forbiddenNames = /^(utils?|helpers?|common|types?|managers?|services?|base|misc|shared)$/;
const timers = new Set(["setTimeout", "setInterval", "setImmediate"]);
/** Not on Node 20.19, and the type library does not know that. */
const tooNew = new Set(["groupBy", "withResolvers", "fromAsync", "getOrInsert", "getOrInsertComputed"]);
const machinePath = /\/(?:work|root|home|tmp|Users)\/[a-z]/;

/** Everything in one file that breaks a law, in words. No answer means that the file was read and nothing was found. */
export function brokenLaws({ path, source }: SourceFile, laws: Laws): string[] {
  const { program, module, errors } = parseSync(path, source, { lang: "ts" });
  if (errors.length > 0) return [`cannot be parsed: ${errors[0]?.message}`];
  const broken: string[] = [...brokenNames(path)];
  const folder = folderOf(path);
  const rule = laws.folders[folder];
  if (rule === undefined) return [...broken, `lies in ${folder}, which is not in the table`];

  const dynamic = module.dynamicImports.map(({ moduleRequest }) => source.slice(moduleRequest.start + 1, moduleRequest.end - 1));
  const reexported = module.staticExports.flatMap(({ entries }) => entries.flatMap((entry) => (entry.moduleRequest === null ? [] : [entry.moduleRequest.value])));
  for (const target of [...module.staticImports.map(({ moduleRequest }) => moduleRequest.value), ...reexported, ...dynamic]) broken.push(...brokenImport(path, target, rule));
  if (reexported.length > 0 && !laws.publicBarrels.includes(path)) broken.push(`passes on names of ${reexported[0]}; only ${laws.publicBarrels.join(" and ")} may`);
  if (
    laws.publicBarrels.includes(path) &&
    module.staticExports.some(({ entries }) => entries.some((entry) => entry.importName.kind === "All" || entry.importName.kind === "AllButDefault"))
  )
    broken.push("exports everything of a file; public names are listed one by one");
  if (module.staticExports.some(({ entries }) => entries.some((entry) => entry.exportName.kind === "Default" || entry.exportName.name === "default")))
    broken.push("has a default export");
  if (machinePath.test(source)) broken.push(`names a path of some machine: ${machinePath.exec(source)?.[0]}…`);

  const isIn = (tops: readonly string[]): boolean => tops.some((top) => folder === top || folder.startsWith(`${top}/`));
  const [clockless, checked] = [isIn(laws.clockless), isIn(laws.checksWhatItReads)];
  if (isIn(laws.withoutEngine) && module.staticImports.some(({ entries }) => entries.some(({ importName }) => importName.name === "Engine")))
    broken.push("imports Engine, which reaches every namespace; what it needs is given to it as a store or a function");
  walk(program as unknown as Node, (node) => {
    if (path !== laws.readsEnvironment && readsEnvironment(node)) broken.push(`reads process.env; only ${laws.readsEnvironment} may`);
    if (node.type === "MemberExpression" && tooNew.has(nameOf(node.property))) broken.push(`uses ${nameOf(node.property)}, which Node 20 does not have`);
    if (isEmptyRange(node)) broken.push("makes an empty range to read; position() gives the revision and the time");
    if (checked && isBlindCast(node)) broken.push("takes a value for another type with `as unknown as`; storedAs (domain/stored-record.ts) looks first");
    if (clockless) broken.push(...ownTime(node));
  });
  return broken;
}

/** The folder whose row counts; a file directly in src is its own. */
export const folderOf = (path: string): string => (path.includes("/") ? dirname(path) : path);

function brokenNames(path: string): string[] {
  const names = path.split("/").map((name) => basename(name, ".ts"));
  return names.flatMap((name) => {
    if (forbiddenNames.test(name)) return [`is called ${name}, which says nothing`];
    return /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name) ? [] : [`is called ${name}, which is not kebab-case`];
  });
}

function brokenImport(path: string, target: string, rule: FolderRule): string[] {
  if (target.startsWith("node:")) return target === "node:process" ? ["imports node:process, which hides process.env"] : [];
  if (!target.startsWith(".")) {
    const name = target
      .split("/")
      .slice(0, target.startsWith("@") ? 2 : 1)
      .join("/");
    return rule.packages === "anything" || rule.packages.includes(name) ? [] : [`imports the package ${name}`];
  }
  if (!/\.(ts|lua)$/.test(target)) return [`imports ${target} without its .ts`];
  const folder = folderOf(join(dirname(path), target));
  if (folder === folderOf(path) || rule.folders === "anything") return [];
  const allowed = rule.folders.some((pattern) => (pattern.endsWith("/*") ? folder.startsWith(pattern.slice(0, -1)) || folder === pattern.slice(0, -2) : folder === pattern));
  return allowed ? [] : [`imports ${target}, and ${folderOf(path)} may not know ${folder}`];
}

function readsEnvironment(node: Node): boolean {
  if (node.type === "MemberExpression") return nameOf(node.object) === "process" && nameOf(node.property) === "env";
  if (node.type !== "VariableDeclarator" || nameOf(node.init) !== "process") return false;
  const pattern = node.id as Node;
  return pattern.type === "ObjectPattern" && (pattern.properties as Node[]).some((property) => nameOf(property.key) === "env");
}

/** `x as unknown as T`. */
const isBlindCast = ({ type, expression }: Node): boolean => {
  const { type: inner, typeAnnotation } = (expression ?? {}) as Partial<Node>;
  return type === "TSAsExpression" && inner === "TSAsExpression" && (typeAnnotation as Node).type === "TSUnknownKeyword";
};

/** `{ start: "", end: "" }`: nothing is in it. */
function isEmptyRange(node: Node): boolean {
  if (node.type !== "ObjectExpression") return false;
  const isEmpty = (name: string): boolean =>
    (node.properties as Node[]).some((property) => nameOf(property.key) === name && (property.value as Node).type === "Literal" && (property.value as Node).value === "");
  return isEmpty("start") && isEmpty("end");
}

function ownTime(node: Node): string[] {
  if (node.type === "MemberExpression") {
    const name = `${nameOf(node.object)}.${nameOf(node.property)}`;
    return ["Date.now", "Math.random", "performance.now"].includes(name) ? [`calls ${name} instead of being given it`] : [];
  }
  if (node.type === "NewExpression" && nameOf(node.callee) === "Date" && (node.arguments as unknown[]).length === 0) return ["makes the present time with new Date()"];
  if (node.type === "CallExpression" && timers.has(nameOf(node.callee))) return [`starts a timer with ${nameOf(node.callee)}`];
  return [];
}

/** The name of an identifier, or the text of a literal member (`process["env"]`). */
function nameOf(node: unknown): string {
  const { type, name, value } = (node ?? {}) as Record<string, unknown>;
  if (type === "Identifier") return String(name);
  return type === "Literal" && typeof value === "string" ? value : "";
}

function walk(node: Node, visit: (node: Node) => void): void {
  visit(node);
  for (const field of Object.values(node)) {
    for (const child of Array.isArray(field) ? field : [field]) if (typeof child === "object" && child !== null && "type" in child) walk(child as Node, visit);
  }
}
