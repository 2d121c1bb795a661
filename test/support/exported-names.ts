import { parseSync } from "oxc-parser";
import type { SourceFile } from "./architecture-laws.ts";

interface Declaration {
  readonly type: string;
  readonly id?: { readonly name: string } | null;
  readonly declarations?: readonly { readonly id: { readonly name?: string }; readonly init: { readonly type: string } | null }[];
}

export interface ExportedName {
  readonly name: string;
  readonly path: string;
  readonly isFunction: boolean;
}

const functionTypes: readonly string[] = ["FunctionDeclaration", "ArrowFunctionExpression", "FunctionExpression"];
const namedTypes: readonly string[] = ["ClassDeclaration", "TSInterfaceDeclaration", "TSTypeAliasDeclaration", "TSEnumDeclaration"];

/** The classes, types and functions that a file declares and exports; a name counts once per file. */
export function exportedNames({ path, source }: SourceFile): ExportedName[] {
  const { program, errors } = parseSync(path, source, { lang: path.endsWith(".tsx") ? "tsx" : "ts" });
  if (errors.length > 0) throw new Error(`${path} cannot be parsed: ${errors[0]?.message}`);
  const names = new Map<string, ExportedName>();
  const add = (name: string | undefined, isFunction: boolean): void => {
    if (name !== undefined) names.set(name, { name, path, isFunction: isFunction && names.get(name)?.isFunction !== false });
  };
  for (const statement of program.body) {
    if (statement.type !== "ExportNamedDeclaration" || statement.declaration === null) continue;
    const { type, id, declarations = [] } = statement.declaration as unknown as Declaration;
    if (functionTypes.includes(type) || namedTypes.includes(type)) add(id?.name, functionTypes.includes(type));
    for (const { id: variable, init } of declarations) if (functionTypes.includes(init?.type ?? "")) add(variable.name, true);
  }
  return [...names.values()];
}

const engineOf = (path: string): string | undefined => /^src\/engines\/([a-z]+)\//.exec(path)?.[1];

/**
 * Names that several files export, each with its files. Functions of different engines may share a name: engines never import one another,
 * and the function that does the same job in each is found by the same name.
 */
export function sharedNames(files: readonly SourceFile[]): string[] {
  const byName = new Map<string, ExportedName[]>();
  for (const each of files.flatMap(exportedNames)) byName.set(each.name, [...(byName.get(each.name) ?? []), each]);
  return [...byName].flatMap(([name, uses]) => {
    const engines = new Set(uses.map(({ path }) => engineOf(path)));
    const isPerEngine = uses.every(({ isFunction }) => isFunction) && !engines.has(undefined) && engines.size === uses.length;
    return uses.length === 1 || isPerEngine ? [] : [`${name}: ${uses.map(({ path }) => path).join(", ")}`];
  });
}
