import type { IncomingHttpHeaders } from "node:http";
import { Agent, request as ask } from "node:http";
import type { Role } from "../../../src/domain/identity/principal.ts";
import { roles } from "../../../src/domain/identity/principal.ts";
import { systemNamespace } from "../../../src/domain/keyspace.ts";
import type { ApiRoute } from "../../../src/surfaces/dashboard/api-route.ts";
import type { Tool } from "../../../src/tools/tool.ts";
import { mcpHeaders, toolCall } from "../../support/http-server.ts";
import { sampleArguments, sampleHashes, sampleLibraryArguments } from "./sample-arguments.ts";

/** Who asks. `headers` and `query` are all that is sent of a credential. */
export interface Caller {
  readonly name: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: string;
  /** What the credential grants; absent: it is none, and opens nothing. */
  readonly grants?: { readonly role: Role; readonly everywhere: boolean };
  /** Refused like others that visit every tool: a few tools are enough. */
  readonly isVariant?: boolean;
}

/** own: what callers that are not for everywhere may use. foreign: another's, full of data. unknown: nobody's. */
export const namespaces = { own: "own", foreign: "foreign", unknown: "never-used", reserved: systemNamespace } as const;
export type Place = keyof typeof namespaces;
/** Stands in everything that the namespace holds: seen by whoever may not, it is a leak. */
export const canaryOf = (place: "own" | "foreign"): string => `canary-of-${place}`;

/** One request, and what must come of it. */
interface Cell {
  readonly what: string;
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly place?: Place;
  /** Open to everybody. */
  readonly isOpen?: boolean;
  /** Only for those who may use every namespace. */
  readonly everywhereOnly?: boolean;
  readonly needs?: Role;
  readonly tool?: Tool;
  /** A route of its own, and not one of many things behind a route. */
  readonly isRoute?: boolean;
  /** Leaves things as they were, whoever asks. */
  readonly changesNothing: boolean;
  /** Goes on until one side ends it: its beginning is enough. */
  readonly isStream?: boolean;
  /** On a read-only server it is not there at all. */
  readonly isGoneWhenReadOnly?: boolean;
}

/** answered: let through; unauthenticated, forbidden: refused before anything ran; unknown tool, gone: as if there were no such thing. */
type Verdict = "answered" | "unauthenticated" | "forbidden" | "unknown tool" | "gone";

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface MatrixOptions {
  readonly port: number;
  readonly readOnly: boolean;
  readonly tools: readonly Tool[];
  readonly apiRoutes: readonly ApiRoute[];
  readonly callers: readonly Caller[];
  /** Only these cells, by what they are. */
  readonly only?: RegExp;
  /** Every caller asks for everything behind a route too, and not only those at the edge of what is allowed. */
  readonly everyCaller?: boolean;
  /** Of the namespaces with data: a mark that changes with everything in them. */
  marks(): Promise<Readonly<Record<"own" | "foreign", string>>>;
}

export interface MatrixResult {
  readonly requests: number;
  readonly byVerdict: Readonly<Record<string, number>>;
  /** Every way in which the server was not as declared. */
  readonly leaks: readonly string[];
}

/**
 * Every route by every caller in every namespace, and every tool and method behind one by the callers at the edge of what is allowed (or by every caller):
 * what is answered must follow from what each declares, and from nothing else.
 */
export async function runMatrix(options: MatrixOptions): Promise<MatrixResult> {
  const { callers, readOnly, everyCaller = false } = options;
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  const leaks: string[] = [];
  const byVerdict: Record<string, number> = {};
  let requests = 0;
  const send = (cell: Cell, caller: Caller): Promise<Answer> => {
    requests += 1;
    return exchange(options.port, agent, cell, caller);
  };
  const cells = cellsOf(options).filter(({ what }) => options.only?.test(what) ?? true);
  const answers = new Map<string, string>();
  const unknownTool = new Map<string, string>();
  const paths = new Set(cells.filter(({ tool }) => tool !== undefined).map(pathOf));
  const teller = callers.find(({ grants }) => grants?.role === "admin" && grants.everywhere);
  if (teller === undefined) throw new Error("The matrix needs a caller who may do everything.");
  // How each path says that there is no such tool: a tool that the caller may not use must answer exactly so.
  for (const path of paths) {
    const cell = cells.find((candidate) => candidate.tool !== undefined && pathOf(candidate) === path && candidate.place !== "reserved") as Cell;
    unknownTool.set(path, withoutName((await send(renamed(cell, madeUpTool), teller)).text, madeUpTool));
  }

  const judge = async (cell: Cell, caller: Caller): Promise<void> => {
    const expected = expectedOf(cell, caller, readOnly);
    const answer = await send(cell, caller);
    const verdict = verdictOf(cell, answer, unknownTool);
    if ((cell.place === "foreign" || cell.place === "unknown") && caller.grants?.everywhere === false) answers.set(`${caller.name}: ${cell.what}`, plain(answer));
    byVerdict[verdict] = (byVerdict[verdict] ?? 0) + 1;
    const where = `${caller.name}: ${cell.what}${readOnly ? " (read-only server)" : ""}`;
    if (verdict !== expected) leaks.push(`${where}: expected ${expected}, got ${verdict} (${answer.status} ${answer.text.slice(0, 120)})`);
    for (const seen of strayIn(cell, caller, answer)) leaks.push(`${where}: the answer shows ${seen}`);
  };

  // First everything that must change nothing: what is refused, and what only reads. Then the rest.
  const visits = (cell: Cell, { isVariant = false }: Caller): boolean => !isVariant || cell.tool === undefined || ["state_get", "state_set"].includes(cell.tool.name);
  const pairs = cells.flatMap((cell) => {
    const all = callers.filter((caller) => visits(cell, caller));
    const asking = everyCaller || cell.isRoute === true ? all : atTheEdge(cell, all, readOnly);
    return asking.map((caller) => ({ cell, caller, mayChange: !cell.changesNothing && expectedOf(cell, caller, readOnly) === "answered" }));
  });
  const before = await options.marks();
  await inTurn(
    pairs.filter(({ mayChange }) => !mayChange),
    ({ cell, caller }) => judge(cell, caller),
  );
  const after = await options.marks();
  for (const place of ["own", "foreign"] as const)
    if (after[place] !== before[place]) leaks.push(`what was refused, or only read, has changed the namespace ${place}: ${before[place]} became ${after[place]}`);
  await inTurn(
    pairs.filter(({ mayChange }) => mayChange),
    ({ cell, caller }) => judge(cell, caller),
  );
  leaks.push(...unlike(answers));
  agent.destroy();
  return { requests, byVerdict, leaks };
}

/**
 * The callers nearest to another verdict: the least that are answered, the most that are refused; and the most that are answered, whose calls do what the tool
 * does. Those without a credential take turns, and all others once more: the same ones in every namespace, because their answers are compared.
 */
function atTheEdge(cell: Cell, callers: readonly Caller[], readOnly: boolean): readonly Caller[] {
  const turn = [...(cell.what.split(/ (?:in|at) /)[0] as string)].reduce((sum, letter) => sum + letter.charCodeAt(0), 0);
  const rank = ({ grants }: Caller): number => (grants === undefined ? 0 : roles.indexOf(grants.role) + (grants.everywhere ? roles.length : 0));
  const chosen = new Set<Caller | undefined>([callers[turn % callers.length]]);
  for (const verdict of ["answered", "unauthenticated", "forbidden", "unknown tool"] as const) {
    const alike = callers.filter((caller) => expectedOf(cell, caller, readOnly) === verdict).toSorted((one, other) => rank(one) - rank(other));
    if (verdict === "unauthenticated") chosen.add(alike[turn % alike.length]);
    else for (const end of verdict === "answered" ? [0, -1] : [-1]) chosen.add(alike.at(end));
  }
  return callers.filter((caller) => chosen.has(caller));
}

/** A namespace that is somebody else's and one that nobody has ever used must be told apart by nobody who may use neither. */
function unlike(answers: ReadonlyMap<string, string>): readonly string[] {
  const found: string[] = [];
  for (const [what, answer] of answers) {
    if (!what.endsWith(" in foreign")) continue;
    const twin = answers.get(what.replace(/ in foreign$/, " in unknown"));
    const same = answer.replaceAll(`/${namespaces.foreign}/`, `/${namespaces.unknown}/`);
    if (same !== twin) found.push(`${what}: an unknown namespace answers otherwise: ${answer} and ${twin}`);
  }
  return found;
}

const plain = ({ status, headers: { date: _, connection: __, "keep-alive": ___, ...headers }, text }: Answer): string =>
  JSON.stringify([status, Object.entries(headers).sort(), text]);

async function inTurn<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = items.values();
  await Promise.all(
    Array.from({ length: 12 }, async () => {
      for (const item of left) await work(item);
    }),
  );
}

/** What the declarations say: the effect and toolset of a tool, the role that a route needs, the caller's grants. */
function expectedOf({ place, isOpen, everywhereOnly, needs, tool, isGoneWhenReadOnly }: Cell, { grants }: Caller, readOnly: boolean): Verdict {
  if (isGoneWhenReadOnly === true && readOnly) return "gone";
  if (isOpen === true) return "answered";
  if (grants === undefined) return "unauthenticated";
  const { role, everywhere } = grants;
  const has = (needed: Role): boolean => roles.indexOf(role) >= roles.indexOf(needed);
  if (needs !== undefined && !has(needs)) return "forbidden";
  if (place === "reserved" || (!everywhere && (place === "foreign" || place === "unknown" || everywhereOnly === true))) return "forbidden";
  if (tool === undefined || tool.effect === "read") return "answered";
  if (readOnly || !has("write") || (tool.effect === "destructive" && tool.toolset === "admin" && !has("admin"))) return "unknown tool";
  return "answered";
}

function verdictOf(cell: Cell, { status, text }: Answer, unknownTool: ReadonlyMap<string, string>): Verdict {
  if (status === 401) return "unauthenticated";
  if (status === 403) return "forbidden";
  if (cell.tool !== undefined && withoutName(text, cell.tool.name) === unknownTool.get(pathOf(cell))) return "unknown tool";
  if (status === 405 || (status === 404 && text.includes("nothing at this path"))) return "gone";
  return "answered";
}

/** Text of a namespace that the caller may not read, in whatever was answered. */
function strayIn(cell: Cell, { grants }: Caller, { text, headers }: Answer): readonly string[] {
  // The challenge says where the caller's own address is explained, and so repeats it.
  const { "www-authenticate": _, ...others } = headers;
  const all = text + JSON.stringify(others);
  const mayRead = (place: "own" | "foreign"): boolean => grants !== undefined && (grants.everywhere || place === "own") && (cell.place === undefined || cell.place === place);
  const stray = (["own", "foreign"] as const).filter((place) => !mayRead(place) && all.includes(canaryOf(place))).map((place) => `what only the namespace ${place} holds`);
  const ofSamples = new RegExp(`("hash":)?"?(${sampleHashes.join("|")})"?`, "g");
  if (/"hash"|[0-9a-f]{64}/.test(all.replace(/"(sha256|etag)":"[^"]*"/g, "").replace(ofSamples, ""))) stray.push("a hash");
  if (all.includes(systemNamespace)) stray.push("the system namespace");
  if (/\bhf_[A-Za-z0-9_-]{43}/.test(cell.path === "/api/tokens" && cell.method === "POST" ? "" : all)) stray.push("a token");
  return stray;
}

const madeUpTool = "no_such_tool_at_all";
const withoutName = (text: string, name: string): string => text.replaceAll(name, "TOOL");
const pathOf = ({ what }: Cell): string => what.split(" ")[0] as string;

function renamed(cell: Cell, name: string): Cell {
  const old = cell.tool?.name as string;
  return JSON.parse(
    JSON.stringify({ ...cell, tool: undefined })
      .replaceAll(`"${old}"`, `"${name}"`)
      .replaceAll(`/${old}"`, `/${name}"`),
  ) as Cell;
}

function cellsOf({ tools, apiRoutes }: MatrixOptions): readonly Cell[] {
  return [...apiCells(apiRoutes, tools), ...mcpCells(tools), ...otherCells()];
}

const places = Object.keys(namespaces) as Place[];

function apiCells(routes: readonly ApiRoute[], tools: readonly Tool[]): readonly Cell[] {
  return routes.flatMap((route): readonly Cell[] => {
    const { method, path, needs } = route;
    const libraryMethod = /\/library\/(.+)$/.exec(path)?.[1];
    const isRead = method === "GET" || (libraryMethod !== undefined && needs === "read");
    const shared = { method, needs, changesNothing: isRead, isGoneWhenReadOnly: !isRead && needs !== "read", isStream: libraryMethod === "state.watch" };
    const body = method === "POST" ? { headers: { "content-type": "application/json" }, body: libraryMethod === undefined ? {} : sampleLibraryArguments(libraryMethod) } : {};
    const concrete = (place: Place | undefined, name: string | undefined): string =>
      path
        .replace(":namespace", encodeURIComponent(namespaces[place ?? "own"]))
        .replace(":tool", name ?? "")
        .replace(":id", "0000000000000000");
    const inPlaces = path.includes(":namespace") ? places : [undefined];
    return inPlaces.flatMap((place): readonly Cell[] => {
      const where = place === undefined ? "" : ` in ${place}`;
      if (!path.includes(":tool"))
        return [{ ...shared, ...body, isRoute: libraryMethod === undefined, what: `api: ${method} ${path}${where}`, path: concrete(place, undefined), place }];
      return tools.map((tool) => ({
        ...shared,
        headers: { "content-type": "application/json" },
        body: sampleArguments(tool.name, namespaces[place ?? "own"]),
        what: `api/tools: ${tool.name}${where}`,
        path: concrete(place, tool.name),
        place,
        tool,
        changesNothing: tool.effect === "read",
        isGoneWhenReadOnly: false,
      }));
    });
  });
}

/** Both eras; `/mcp` is the caller's own namespace, which for callers everywhere is the server's default, here the same one. */
function mcpCells(tools: readonly Tool[]): readonly Cell[] {
  const endpoints = [{ path: "/mcp", place: undefined }, ...places.map((place) => ({ path: `/ns/${encodeURIComponent(namespaces[place])}/mcp`, place }))];
  return endpoints.flatMap(({ path, place }): readonly Cell[] => {
    const where = place === undefined ? " at /mcp" : ` in ${place}`;
    const calls = tools.flatMap((tool): readonly Cell[] => {
      const args = sampleArguments(tool.name, namespaces[place ?? "own"]);
      const common = { method: "POST", path, place, tool, changesNothing: tool.effect === "read" };
      return [
        { ...common, what: `mcp-stateless: ${tool.name}${where}`, headers: mcpHeaders("tools/call", tool.name), body: toolCall(tool.name, args) },
        {
          ...common,
          what: `mcp-handshake: ${tool.name}${where}`,
          headers: handshakeHeaders,
          body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: tool.name, arguments: args } },
        },
      ];
    });
    const reads = readUris.flatMap((uri): readonly Cell[] => [
      {
        what: `mcp-stateless: read ${uri}${where}`,
        method: "POST",
        path,
        place,
        headers: { ...mcpHeaders("resources/read", uri) },
        body: stateless("resources/read", { uri }),
        changesNothing: true,
      },
      {
        what: `mcp-handshake: read ${uri}${where}`,
        method: "POST",
        path,
        place,
        headers: handshakeHeaders,
        body: { jsonrpc: "2.0", id: 1, method: "resources/read", params: { uri } },
        changesNothing: true,
      },
    ]);
    const listen: Cell = {
      what: `mcp-stateless: subscriptions/listen${where}`,
      method: "POST",
      path,
      place,
      headers: mcpHeaders("subscriptions/listen"),
      body: stateless("subscriptions/listen", { notifications: { resourceSubscriptions: [readUris[0]] } }),
      changesNothing: true,
      isStream: true,
    };
    const lists = ["server/discover", "tools/list", "resources/list", "resources/templates/list", "prompts/list"].map(
      (method): Cell => ({ what: `mcp-stateless: ${method}${where}`, method: "POST", path, place, headers: mcpHeaders(method), body: stateless(method), changesNothing: true }),
    );
    const shake = ["initialize", "ping", "tools/list", "resources/list", "prompts/list"].map(
      (method): Cell => ({
        what: `mcp-handshake: ${method}${where}`,
        method: "POST",
        path,
        place,
        headers: handshakeHeaders,
        body: { jsonrpc: "2.0", id: 1, method, params: handshakeParams(method) },
        changesNothing: true,
      }),
    );
    const others = ["GET", "DELETE"].map(
      (method): Cell => ({
        what: `mcp: ${method}${where}`,
        method,
        path,
        place,
        headers: { accept: "text/event-stream", "mcp-protocol-version": "2025-11-25", "mcp-session-id": "x".repeat(43) },
        changesNothing: true,
      }),
    );
    return [...calls, ...reads, listen, ...lists, ...shake, ...others];
  });
}

/** What both namespaces hold under the same names. */
const readUris = ["holdfast://state/color", "holdfast://knowledge/note", "holdfast://session/session", "holdfast://workflow/run-of-the-matrix"] as const;
const handshakeHeaders = { "content-type": "application/json", accept: "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25" };
const handshakeParams = (method: string) => (method === "initialize" ? { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "matrix", version: "1" } } : {});
function stateless(method: string, more: Readonly<Record<string, unknown>> = {}) {
  const { params } = toolCall("x");
  return { jsonrpc: "2.0", id: 1, method, params: { ...more, _meta: params._meta } };
}

function otherCells(): readonly Cell[] {
  const cell = (path: string, more: Partial<Cell> = {}): Cell => ({ what: `GET ${path}`, method: "GET", path, isRoute: true, changesNothing: true, ...more });
  const page = { headers: { accept: "text/html" }, isOpen: true };
  return [
    cell("/livez", { isOpen: true }),
    cell("/", page),
    cell("/sign-in", page),
    cell(`/ns/${namespaces.foreign}`, page),
    cell(`/ns/${namespaces.foreign}/keys`, page),
    cell("/.well-known/oauth-protected-resource", { isOpen: true }),
    cell("/.well-known/oauth-protected-resource/mcp", { isOpen: true }),
    cell("/health"),
    cell("/metrics", { everywhereOnly: true }),
  ];
}

function exchange(port: number, agent: Agent, { method, path, headers = {}, body, isStream = false }: Cell, { headers: credential = {}, query }: Caller): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const call = ask(
      {
        host: "127.0.0.1",
        port,
        agent,
        method,
        path: query === undefined ? path : `${path}?${query}`,
        headers: { ...headers, ...credential, ...(text === undefined ? {} : { "content-length": Buffer.byteLength(text) }) },
      },
      (response) => {
        let answer = "";
        const done = (): void => resolve({ status: response.statusCode as number, headers: response.headers, text: answer });
        const goesOn = (isStream || method === "GET") && response.headers["content-type"]?.startsWith("text/event-stream") === true;
        response.setEncoding("utf8").on("data", (part: string) => {
          answer += part;
          // It would go on for ever; its beginning says whether it was opened.
          if (goesOn) call.destroy();
        });
        response.on("close", done);
      },
    );
    call.on("error", (error) => {
      if (!call.destroyed || (error as NodeJS.ErrnoException).code !== "ECONNRESET") reject(error);
    });
    call.end(text);
  });
}
