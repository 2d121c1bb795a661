// Writes docs/tools.md, docs/cli.md and docs/configuration.md from the code they describe.
// `--check` writes nothing: it prints what differs and exits 1 when a page is stale.
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { build } from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { values: flags } = parseArgs({ options: { check: { type: "boolean", default: false }, docs: { type: "string", default: join(root, "docs") } } });

/** Errors after which the call may or may not have taken effect. */
const unknownOutcomes = ["outcome_unknown", "internal"];

const code = await loadCode();
const pages = { "tools.md": toolsPage(code), "cli.md": cliPage(code), "configuration.md": configurationPage(code) };
let stale = 0;
for (const [name, text] of Object.entries(pages)) {
  const path = join(flags.docs, name);
  const written = await readFile(path, "utf8").catch(() => "");
  if (written === text) continue;
  if (flags.check) {
    stale += 1;
    process.stdout.write(`${name} does not match the code:\n${difference(written, text)}`);
  } else {
    await mkdir(flags.docs, { recursive: true });
    await writeFile(path, text);
    process.stdout.write(`wrote ${name}\n`);
  }
}
if (stale > 0) process.stdout.write("Run: node scripts/generate.mjs\n");
process.exit(stale > 0 ? 1 : 0);

/** Node cannot run the TypeScript sources directly, so the modules that are needed are bundled first. */
async function loadCode() {
  const lines = [
    'export { catalog } from "./src/tools/catalog.ts";',
    'export { describeTool, fullSchemas } from "./src/tools/describe-tool.ts";',
    'export { profiles, selectTools } from "./src/tools/profiles.ts";',
    'export { tokenCost } from "./src/tools/token-cost.ts";',
    'export { toolsets } from "./src/tools/tool.ts";',
    'export { errorCodes } from "./src/kernel/errors.ts";',
    'export { limits } from "./src/store/limits.ts";',
    'export { configFileSource, settingFlags, settingSources } from "./src/settings.ts";',
    'export { commands } from "./src/surfaces/cli/commands.ts";',
    'export { commonFlags, flagsOf, flagUsage, usageOf } from "./src/surfaces/cli/help.ts";',
    'export { durationForms } from "./src/kernel/duration.ts";',
  ];
  await mkdir(join(root, "build"), { recursive: true });
  const folder = await mkdtemp(join(root, "build", "generate-"));
  try {
    await build({
      stdin: { contents: lines.join("\n"), resolveDir: root, loader: "ts" },
      outfile: join(folder, "code.mjs"),
      bundle: true,
      format: "esm",
      platform: "node",
      target: "node20.19",
      packages: "external",
      loader: { ".lua": "text" },
      logLevel: "warning",
    });
    return await import(pathToFileURL(join(folder, "code.mjs")).href);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function toolsPage({ catalog, describeTool, fullSchemas, profiles, selectTools, tokenCost, toolsets, errorCodes, limits }) {
  const effects = { read: "changes nothing", write: "writes", "write-idempotent": "writes; calling it again changes nothing more", destructive: "takes something away" };
  const parts = [
    heading("Tools"),
    `Every result is structured content that matches the tool's output schema, and the same as text. Expected outcomes (conflict, not found, held by another, nothing to claim) are ordinary results. Everything else is an error \`{error: {code, message, hint?, details?}}\` with a code from the [table below](#errors). An error means that nothing was changed, except for ${unknownOutcomes.map((name) => `\`${name}\``).join(" and ")}: after those, the write may have taken effect. Times are Unix seconds with fractions.\n`,
    'Every tool that writes takes `request_key`, any unique text: a call repeated with the same key and arguments returns the first answer and has no second effect. Clients that set `_meta["holdfast/request-key"]`, and reads, need no argument for it.\n',
    "Values are JSON as JavaScript reads it. Numbers are IEEE doubles: integers beyond 2^53 and numbers too large are rejected, while `-0` and numbers too small become 0 and further digits are rounded. Members of objects keep their order, except that names that are whole numbers come first.\n",
    "Optional arguments may be `null`; labels may be empty. Where only one meaning is possible, a list, object, number or switch sent as text is taken as what it says, and `warning` in the result names it. Memory saves (`checkpoint`, `save_checkpoint`, `save_knowledge`) keep unknown words and arguments as text, with a `warning`.\n",
    "## Profiles\n",
    table(
      ["profile", "tools", "tokens (about)"],
      profiles.map((profile) => [`\`${profile}\``, String(selectTools({ profile }).length), String(tokenCost(selectTools({ profile })))]),
    ),
    `Toolsets for \`--tools\`: ${toolsets.map((name) => `\`${name}\``).join(", ")}.\n`,
  ];
  for (const toolset of toolsets) {
    const tools = catalog.filter((tool) => tool.toolset === toolset);
    if (tools.length === 0) continue;
    parts.push(`## ${toolset}\n`);
    for (const tool of tools) {
      const { title, description, inputSchema } = describeTool(tool);
      parts.push(`### ${tool.name}\n`, `${title} (${effects[tool.effect]}).\n`, `${description}\n`);
      const inputs = Object.entries(inputSchema.properties ?? {});
      parts.push(
        inputs.length === 0
          ? "Takes no argument.\n"
          : table(
              ["argument", "kind", ""],
              inputs.map(([name, schema]) => [`\`${name}\``, kindOf(schema), (inputSchema.required ?? []).includes(name) ? "required" : ""]),
            ),
      );
      const { properties = {}, required: always = [] } = fullSchemas(tool).output;
      parts.push(
        `Returns ${Object.keys(properties)
          .map((name) => `\`${name}${always.includes(name) ? "" : "?"}\``)
          .join(", ")}.\n`,
      );
    }
  }
  parts.push("## Errors\n", errorTable(errorCodes));
  parts.push(
    "## Limits\n",
    "The same on every engine; over one, a clear error and nothing changes.\n",
    table(
      ["limit", "value"],
      Object.entries(limits).map(([name, value]) => [`\`${name}\``, value.toLocaleString("en-US")]),
    ),
  );
  return parts.join("\n");
}

function cliPage({ commands, commonFlags, flagsOf, flagUsage, usageOf, settingFlags, errorCodes, durationForms }) {
  const parts = [
    heading("Command line"),
    prose(
      'Every tool is also a command. Commands print tables and aligned text, with absolute and relative times. Colour is used only on a terminal, and never if `NO_COLOR` is set. Scripts should pass `--json`: the command then prints the exact structured result, or `{"error": {…}}`, to standard output.',
    ),
    "## How arguments are written\n",
    [
      `Durations (\`--ttl\`, \`--wait\`): ${durationForms}.`,
      "Values are read as JSON if they are valid JSON, otherwise as plain text. `--string` always stores them as text. `@FILE` reads a file and `-` reads standard input; a final line break is dropped.",
      "Tags: `--tag NAME=VALUE`, repeated as needed. Leases that guard a write: `--lease NAME:TOKEN`.",
      "Leases and claims need a holder. Without `--agent` or `HOLDFAST_AGENT` it is `USER@HOST:SESSION`, where SESSION is the id of the terminal session (or of the parent process, on systems without one). Two terminals are therefore two holders, and all commands in one terminal are the same holder. Scripts and agents whose commands run in different sessions should set the agent.",
      "`--` ends the flags: everything after it is an argument, even if it begins with a dash.",
    ]
      .map((item) => prose(item, "- "))
      .join(""),
    "## Exit codes\n",
    exitTable(errorCodes),
    "## Flags of every command\n",
    table(
      ["flag", "meaning"],
      [...commonFlags, ...settingFlags].filter(({ hidden }) => hidden !== true).map((flag) => [`\`${flagUsage(flag)}\``, flag.meaning]),
    ),
    "## Commands\n",
  ];
  for (const command of commands) {
    parts.push(`### holdfast ${command.path.join(" ")}\n`, `${command.summary}.\n`, block(usageOf(command)));
    if (command.details !== undefined) parts.push(...command.details.split("\n\n").map((paragraph) => prose(paragraph)));
    const rows = [
      ...(command.operandMeanings ?? []).map(({ name, meaning }) => [`\`${name}\``, meaning]),
      ...flagsOf(command, settingFlags).map((flag) => [`\`${flagUsage(flag)}\``, flag.meaning]),
    ];
    if (rows.length > 0) parts.push(table(["argument", "meaning"], rows));
    if (command.examples.length > 0) parts.push(block(command.examples.join("\n")));
  }
  return parts.join("\n");
}

function exitTable(errorCodes) {
  const byExit = new Map();
  for (const [name, { exit }] of Object.entries(errorCodes)) byExit.set(exit, [...(byExit.get(exit) ?? []), `\`${name}\``]);
  return table(
    ["code", "meaning"],
    [
      ["0", "done"],
      ["1", "an expected negative answer: not found, conflict, held by another agent, nothing to claim, nothing to delete"],
      ...[...byExit].sort(([a], [b]) => a - b).map(([exit, names]) => [String(exit), names.join(", ")]),
    ],
  );
}

function configurationPage({ settingSources, configFileSource }) {
  return [
    heading("Configuration"),
    prose(
      "Holdfast reads each setting from the first of these that is present: its flag, its `HOLDFAST_` variable, the configuration file, the variable of a system that Holdfast replaces, its default. An empty variable counts as unset. An invalid value is rejected, and the error names the flag or variable that it came from.",
    ),
    table(
      ["flag", "variable", "in the file", "default", "meaning"],
      Object.entries(settingSources).map(([name, { flag, takes, variable, fallback, meaning }]) => [
        flag === undefined ? "" : `\`--${flag}${takes === undefined ? "" : ` ${takes}`}\``,
        `\`${variable}\``,
        `\`${name}\``,
        fallback,
        meaning,
      ]),
    ),
    prose(`\`--${configFileSource.flag} ${configFileSource.takes}\` or \`${configFileSource.variable}\`: ${configFileSource.meaning}`),
    prose(
      "The default store is `holdfast/holdfast.db`, in `$XDG_DATA_HOME` (default: `~/.local/share`) on Linux, in `~/Library/Application Support` on macOS, and in `%LOCALAPPDATA%` on Windows.",
    ),
    "## Accepted values\n",
    table(
      ["setting", "accepted"],
      Object.values(settingSources).map(({ flag, variable, allowed }) => [`\`${flag === undefined ? variable : `--${flag}`}\``, allowed.replace(/^must be /, "")]),
    ),
    "## Variables of the replaced systems\n",
    table(
      ["variable", "means"],
      [
        ["`CHECKPOINT_DB_PATH`", "the store `sqlite:PATH`"],
        ["`DB_PATH`", "the store `sqlite:PATH`, when `CHECKPOINT_DB_PATH` is unset"],
        ["`STATE_BACKEND`", "`sqlite` (with the two above), `memory`, or `redis`"],
        ["`REDIS_URL`", "the store, only with `STATE_BACKEND=redis`, because other programs set this variable too; default `redis://localhost:6379`"],
        [
          "`SIDECAR_HOST`, `SIDECAR_PORT`",
          "`--host`, `--port`. A `SIDECAR_PORT` of the form `tcp://ADDRESS:PORT` is ignored, because Kubernetes sets it for a service called sidecar",
        ],
      ],
    ),
    prose(
      "`OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_EXPORTER_OTLP_HEADERS` and `OTEL_SERVICE_NAME` mean `--otlp-endpoint`, `--otlp-headers` and `--otlp-service-name`. Values that Holdfast cannot use, such as a collector for gRPC only, are ignored. With `OTEL_SDK_DISABLED=true` all three are ignored.",
    ),
    prose("`NO_COLOR` with any value other than the empty one turns colour off."),
  ].join("\n");
}

function heading(title) {
  return `# ${title}\n\n<!-- Made by scripts/generate.mjs; change the code it describes instead. -->\n`;
}

/** A paragraph or a list item, wrapped so that differences between versions are readable. */
function prose(text, bullet = "") {
  const lines = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && bullet.length + last.length + 1 + word.length <= 100) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return `${bullet}${lines.join(`\n${" ".repeat(bullet.length)}`)}\n`;
}

function block(text) {
  return `\`\`\`sh\n${text}\n\`\`\`\n`;
}

function table(header, rows) {
  const line = (cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`;
  return `${[line(header), `|${header.map(() => "---").join("|")}|`, ...rows.map(line)].join("\n")}\n`;
}

function errorTable(errorCodes) {
  return table(
    ["code", "meaning", "the same call again"],
    Object.entries(errorCodes).map(([name, { meaning, retry }]) => [`\`${name}\``, meaning, repeated(name, retry)]),
  );
}

function repeated(name, retry) {
  if (unknownOutcomes.includes(name)) return "is safe with the same request key";
  return retry === "never" ? "fails again" : "may succeed later";
}

/** A JSON Schema in a few words. */
function kindOf(schema) {
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${value}\``).join(" · ");
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.type === "array") return `list of ${kindOf(schema.items ?? {})}`;
  if (schema.type === "object" && schema.properties !== undefined) {
    const required = schema.required ?? [];
    return `{${Object.keys(schema.properties)
      .map((name) => (required.includes(name) ? name : `${name}?`))
      .join(", ")}}`;
  }
  if (schema.type === "object" && typeof schema.additionalProperties === "object") return "map of strings";
  const bounds = [];
  if (schema.exclusiveMinimum !== undefined) bounds.push(`above ${schema.exclusiveMinimum}`);
  if (schema.minimum !== undefined) bounds.push(`from ${schema.minimum}`);
  if (schema.maximum !== undefined) bounds.push(`to ${schema.maximum}`);
  return [schema.type ?? "any JSON", ...bounds].join(" ");
}

/** The lines that only one side has, in order. */
function difference(before, after) {
  const [old, fresh] = [before.split("\n"), after.split("\n")];
  const [oldSet, freshSet] = [new Set(old), new Set(fresh)];
  const lines = [...old.filter((line) => !freshSet.has(line)).map((line) => `- ${line}`), ...fresh.filter((line) => !oldSet.has(line)).map((line) => `+ ${line}`)];
  if (lines.length === 0) return "the same lines in another order or number\n";
  return `${lines.slice(0, 40).join("\n")}\n${lines.length > 40 ? `… ${lines.length - 40} more lines\n` : ""}`;
}
