import type { TextStyle } from "./terminal-text.ts";
import { bold, dim, formatTime, green, red, safeText, shorten, textWidth, yellow } from "./terminal-text.ts";

type Record_ = Readonly<Record<string, unknown>>;

interface ListColumn {
  readonly heading: string;
  /** May be truncated to make room. */
  readonly cuts?: boolean;
  /** Never truncated and never left out: people paste it into the next command. */
  readonly isId?: boolean;
  cell(record: Record_, style: TextStyle): string;
  paint?(record: Record_): ((style: TextStyle, text: string) => string) | undefined;
}

/** How a command shows its list: the columns, most important first, and the text for an empty list. */
interface ListShape {
  /** The field of the result that contains the list. */
  readonly field: string;
  readonly columns: readonly ListColumn[];
  readonly empty: string;
  /** The text if arguments filtered the list. */
  readonly emptyNarrowed: string;
}

const text = (heading: string, field = heading): ListColumn => ({ heading, cell: (record) => plain(record[field]) });
const id = (heading: string, field = heading): ListColumn => ({ ...text(heading, field), isId: true });
const prose = (heading: string, field = heading): ListColumn => ({ ...text(heading, field), cuts: true });
const time = (heading: string, field: string, absent = "-"): ListColumn => ({
  heading,
  cell: (record, style) => (typeof record[field] === "number" ? formatTime(record[field], { ...style, shortTimes: true }) : absent),
});
const isoTime = (heading: string, field: string): ListColumn => ({
  heading,
  cell: (record, style) => formatTime(Date.parse(String(record[field])) / 1_000, { ...style, shortTimes: true }),
});

const plain = (value: unknown): string => {
  if (value === null || value === undefined || value === "") return "-";
  return safeText(typeof value === "string" ? value : JSON.stringify(value));
};

const statusPaints: Readonly<Record<string, typeof red>> = { done: green, failed: red, created: yellow };

const effectPaints: Readonly<Record<string, typeof red>> = { unknown: red, intended: yellow, done: green, failed: dim };

const runs: Omit<ListShape, "empty"> = {
  field: "runs",
  columns: [
    prose("name"),
    id("run id", "run_id"),
    { ...text("status"), paint: ({ status }) => statusPaints[String(status)] },
    prose("agent", "agent_id"),
    text("step", "last_step"),
    time("changed", "updated_at"),
    time("claim ends", "claim_expires_at"),
    {
      heading: "tags",
      cuts: true,
      cell: ({ tags }) =>
        plain(
          Object.entries((tags ?? {}) as object)
            .map(([name, value]) => `${name}=${value}`)
            .join(" "),
        ),
    },
  ],
  emptyNarrowed: "No runs match.",
};

const keys: ListShape = {
  field: "entries",
  columns: [id("key"), text("version"), time("changed", "updated_at"), time("expires", "expires_at", "never"), prose("value")],
  empty: "No keys yet. Set one: holdfast set KEY VALUE",
  emptyNarrowed: "No keys begin with this text.",
};

/** By the name of the tool, or by the path of a command that is not a tool. Other results show their lists with every field. */
const shapes: Readonly<Record<string, ListShape>> = {
  state_list: keys,
  workflow_list: { ...runs, empty: "No runs yet. Create one: holdfast workflow create NAME" },
  workflow_discover: { ...runs, empty: "No runs yet. Create one: holdfast workflow create NAME" },
  history_log: {
    field: "entries",
    columns: [
      text("rev", "revision"),
      time("when", "written_at"),
      { heading: "who", cuts: true, cell: ({ agent_id: agent, writer }) => plain(agent ?? writer) },
      { heading: "what", cell: ({ kind, op }) => plain(`${kind} ${op}`) },
      id("name", "key"),
      prose("value", "new_value"),
    ],
    empty: "No history yet. Every change is listed here: holdfast set KEY VALUE makes the first.",
    emptyNarrowed: "No changes match. History keeps the newest changes; older ones may be gone.",
  },
  list_checkpoints: {
    field: "checkpoints",
    columns: [isoTime("saved", "saved"), { heading: "sure", cell: ({ confidence }) => `${Math.round(Number(confidence) * 100)}%` }, id("id"), prose("thesis")],
    empty: "No research checkpoints yet. Save one: holdfast research save THESIS --core-question QUESTION --confidence 0.5",
    emptyNarrowed: "No research checkpoints match.",
  },
  "knowledge list": {
    field: "notes",
    columns: [
      id("id", "name"),
      { ...text("status"), paint: ({ status }) => (status === "active" ? undefined : dim) },
      isoTime("saved", "saved"),
      prose("title"),
      { heading: "questions", cell: ({ questions }) => String((questions as readonly string[]).length) },
      text("trust"),
      prose("by", "author"),
    ],
    empty: "No notes yet. Save one: holdfast knowledge save ID TEXT",
    emptyNarrowed: "No notes match.",
  },
  "effect list": {
    field: "effects",
    columns: [
      { ...text("state"), paint: ({ state }) => effectPaints[String(state)] },
      id("id"),
      { heading: "what", cuts: true, cell: ({ name: called, tool }) => plain(called ?? tool) },
      prose("run", "run_id"),
      time("begun", "begun_at"),
      text("attempts"),
      prose("agent", "agent_id"),
      prose("reason"),
      prose("arguments", "args"),
    ],
    empty: "No effects yet. Run a command once: holdfast effect NAME -- COMMAND",
    emptyNarrowed: "No effects match.",
  },
  "session list": {
    field: "sessions",
    columns: [id("session id", "session_id"), text("version"), time("changed", "updated_at"), prose("by", "updated_by"), time("expires", "expires_at", "never")],
    empty: "No sessions yet. Save one: holdfast session save ID CONTEXT",
    emptyNarrowed: "No sessions match.",
  },
  "lease list": {
    field: "leases",
    columns: [
      id("resource", "resource_id"),
      prose("holder"),
      time("ends", "expires_at"),
      text("token"),
      time("held since", "held_since_at"),
      { heading: "waiting", cuts: true, cell: ({ waiting }) => plain((waiting as readonly string[]).join(", ")) },
    ],
    empty: "No lease is held now. Take one: holdfast lease acquire NAME",
    emptyNarrowed: "No leases match.",
  },
  "namespace list": {
    field: "namespaces",
    columns: [
      id("namespace"),
      text("revision"),
      text("keys"),
      text("runs"),
      text("notes"),
      text("journal"),
      { heading: "current", cell: ({ current }) => (current === true ? "yes" : "-") },
    ],
    empty: "No namespaces yet. The first write makes one: holdfast set KEY VALUE",
    emptyNarrowed: "No namespaces match.",
  },
  "workspace list": {
    field: "workspaces",
    columns: [prose("name"), id("workspace id", "workspace_id"), time("last entry", "last_entry_at"), prose("description", "last_entry")],
    empty: "No workspaces yet. Save an entry in one: holdfast checkpoint DESCRIPTION",
    emptyNarrowed: "No workspaces match.",
  },
};

export const listsAsTable = (tool: string): boolean => Object.hasOwn(shapes, tool);

/** Arguments that choose how much is shown, not what. */
const pagingArguments: readonly string[] = ["limit", "n", "cursor", "values"];

/** Renders the result of a list command as a table that fits the terminal; undefined for other tools. */
export function renderList(tool: string, result: Record_, given: Record_, style: TextStyle): string | undefined {
  const shape = shapes[tool];
  const items = shape === undefined ? undefined : (result[shape.field] as readonly Record_[] | undefined);
  if (shape === undefined || items === undefined) return undefined;
  const isNarrowed = Object.keys(given).some((name) => !pagingArguments.includes(name));
  if (items.length === 0 && typeof result.cursor !== "string") return `${isNarrowed ? shape.emptyNarrowed : shape.empty}\n`;
  return fittedTable(items, shape.columns, style) + footer(items.length, result);
}

function footer(shown: number, { cursor, total }: Record_): string {
  if (typeof cursor !== "string") return "";
  const of = typeof total === "number" && total > shown ? ` of ${total}` : "";
  return `${shown}${of} shown. Next page: --cursor ${safeText(cursor)}\n`;
}

const gap = 2;
const cutWidthMin = 12;
const idWidthUsual = 32;

/** One very long id must not cost every row its other columns: it overflows in its own row. If most ids are long, all get room. */
function idWidth(widths: readonly number[], headingWidth: number): number {
  const middle = widths.toSorted((a, b) => a - b)[Math.floor(widths.length / 2)] ?? 0;
  return Math.max(headingWidth, ...(middle > idWidthUsual ? widths : widths.filter((width) => width <= idWidthUsual)));
}

/** Leaves out columns without values, then columns from the right that are not ids, until the rest fits. */
function fittedTable(items: readonly Record_[], columns: readonly ListColumn[], style: TextStyle): string {
  const { columns: room = Number.POSITIVE_INFINITY } = style;
  const filled = columns
    .map((column) => {
      const cells = items.map((item) => (column.cuts === true ? shorten(column.cell(item, style)) : column.cell(item, style)));
      const heading = textWidth(column.heading);
      const widths = cells.map(textWidth);
      return { column, cells, width: column.isId === true && Number.isFinite(room) ? idWidth(widths, heading) : Math.max(heading, ...widths) };
    })
    .filter(({ cells }, i) => i === 0 || cells.some((cell) => cell !== "-"));
  const leastWidth = ({ column, width }: (typeof filled)[number]): number => (column.cuts === true ? Math.min(width, cutWidthMin) : width);
  const needed = (those: typeof filled): number => those.reduce((sum, each) => sum + leastWidth(each) + gap, -gap);
  let kept = filled;
  while (needed(kept) > room) {
    const dropped = kept.findLast(({ column }) => column.isId !== true);
    if (dropped === undefined) break;
    kept = kept.filter((each) => each !== dropped);
  }
  let spare = room - needed(kept);
  const widths = kept.map((each) => {
    const width = Math.min(each.width, leastWidth(each) + Math.max(0, spare));
    spare -= width - leastWidth(each);
    return width;
  });
  const line = (cells: readonly string[], paint?: (text: string, i: number) => string): string => {
    let used = 0;
    return cells
      .map((cell, i) => {
        const width = widths[i] as number;
        const left = room - used;
        // After an overflowing id there may be no room for the next columns.
        const shown = kept[i]?.column.cuts !== true ? cell : left < cutWidthMin && left < width ? "" : shorten(cell, Math.min(width, left));
        const padding = i === cells.length - 1 ? "" : " ".repeat(Math.max(0, width - textWidth(shown)) + gap);
        used += textWidth(shown) + padding.length;
        return (paint?.(shown, i) ?? shown) + padding;
      })
      .join("")
      .trimEnd();
  };
  const header = bold(style, line(kept.map(({ column }) => column.heading)));
  const rows = items.map((item, row) =>
    line(
      kept.map(({ cells }) => cells[row] as string),
      (shown, i) => kept[i]?.column.paint?.(item)?.(style, shown) ?? shown,
    ),
  );
  return [header, ...rows].map((each) => `${each}\n`).join("");
}
