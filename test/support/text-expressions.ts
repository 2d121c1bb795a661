import { readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { parseSync } from "oxc-parser";

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

export interface FoundExpression {
  /** `search/tokenizer.ts /a+/g` */
  readonly name: string;
  readonly pattern: string;
  readonly flags: string;
}

export interface FoundSource {
  readonly expressions: readonly FoundExpression[];
  /** `search/tokenizer.ts new RegExp(…)`: what is put together while the program runs, as it is written. */
  readonly constructed: readonly string[];
  /** `search/tokenizer.ts tokens`: exported functions that are given a text. */
  readonly functions: readonly string[];
}

/** Parameters with these names hold what somebody wrote, of any length. */
const textNames = /^(text|texts|url|uri|question|query|body|pattern|address|host|term|word|thesis|line|source|content|given|raw)$/;

export function readSources(folder: string): FoundSource {
  const found = { expressions: [] as FoundExpression[], constructed: [] as string[], functions: [] as string[] };
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((item) => item.isFile() && /\.tsx?$/.test(item.name))
    .map((item) =>
      join(item.parentPath, item.name)
        .slice(folder.length + 1)
        .replaceAll(sep, "/"),
    );
  for (const path of paths.sort()) {
    const read = readSource(path, readFileSync(join(folder, path), "utf8"));
    found.expressions.push(...read.expressions);
    found.constructed.push(...read.constructed);
    found.functions.push(...read.functions);
  }
  return found;
}

export function readSource(path: string, source: string): FoundSource {
  const { program, errors } = parseSync(path, source);
  if (errors.length > 0) throw new Error(`${path} cannot be parsed: ${errors[0]?.message}`);
  const expressions: FoundExpression[] = [];
  const constructed: string[] = [];
  walk(program, (node) => {
    const { regex, callee } = node as { regex?: { pattern: string; flags: string }; callee?: { name?: string } };
    if (node.type === "Literal" && regex !== undefined) expressions.push({ name: `${path} /${regex.pattern}/${regex.flags}`, ...regex });
    if ((node.type === "NewExpression" || node.type === "CallExpression") && callee?.name === "RegExp")
      constructed.push(`${path} ${source.slice(node.start, node.end).replaceAll(/\s+/g, " ").slice(0, 60)}`);
  });
  const functions = (program.body as unknown as readonly Node[]).flatMap((statement) => exportedFunctions(statement)).map((name) => `${path} ${name}`);
  return { expressions, constructed, functions };
}

function exportedFunctions(statement: Node): string[] {
  const declaration = statement.type === "ExportNamedDeclaration" ? (statement.declaration as Node | null) : null;
  if (declaration === null) return [];
  const candidates: readonly (readonly [Node, Node])[] =
    declaration.type === "FunctionDeclaration"
      ? [[declaration.id as Node, declaration]]
      : declaration.type === "VariableDeclaration"
        ? (declaration.declarations as readonly Node[]).flatMap((each): [Node, Node][] => {
            const init = each.init as Node | null;
            return init?.type === "ArrowFunctionExpression" ? [[each.id as Node, init]] : [];
          })
        : [];
  return candidates.flatMap(([id, { params }]) => ((params as readonly Node[]).some(isText) ? [id.name as string] : []));
}

function isText(parameter: Node): boolean {
  const target = (parameter.type === "AssignmentPattern" ? parameter.left : parameter) as Node;
  const annotation = (target.typeAnnotation as { typeAnnotation?: Node } | undefined)?.typeAnnotation?.type;
  return target.type === "Identifier" && textNames.test(target.name as string) && annotation === "TSStringKeyword";
}

function walk(value: unknown, visit: (node: Node) => void): void {
  if (Array.isArray(value)) for (const item of value) walk(item, visit);
  else if (typeof value === "object" && value !== null) {
    if ("type" in value) visit(value as Node);
    for (const [name, child] of Object.entries(value)) if (name !== "parent") walk(child, visit);
  }
}

/** The literal pieces of a pattern: runs of them, and texts that begin with one, reach parts of it that a run of one character does not. */
export function literalsOf(pattern: string): readonly string[] {
  const bare = pattern
    .replaceAll(/\(\?(?:[:=!]|<[=!]|<\w+>)/g, "(")
    .replaceAll(/\\[pPu]\{[^}]*\}|\\u[0-9a-f]{4}|\\x[0-9a-f]{2}|\\[dDwWsSbB]/gi, "\u0000")
    .replaceAll(/\[(?:\\.|[^\]\\])*\]/g, "\u0000")
    .replaceAll("\\n", "\n")
    .replaceAll("\\r", "\r")
    .replaceAll("\\t", "\t")
    .replaceAll(/\{\d+,?\d*\}/g, "\u0000")
    .replaceAll(/\\(.)/g, "$1\u0001")
    .replaceAll(/(?<!\u0001)[()|^$.*+?]/g, "\u0000")
    .replaceAll("\u0001", "");
  return [...new Set(bare.split("\u0000").filter((piece) => piece.length > 0 && piece.length < 30))];
}
