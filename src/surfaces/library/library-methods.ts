import type { Holdfast } from "./holdfast.ts";

type Group = "state" | "blobs" | "leases" | "effects" | "workflows" | "sessions" | "journal" | "research" | "knowledge";

/** Methods that the client builds from others. */
type Built = "effects.once" | "blobs.put" | "blobs.get" | "blobs.read";

/** Every method that can be called over HTTP, as spelled in its path. */
export type LibraryMethodName = Exclude<{ [Name in Group]: `${Name}.${keyof Holdfast[Name] & string}` }[Group], Built> | "resume" | "history" | "health";

interface LibraryMethod {
  /** `write` methods change something and accept a request key. */
  readonly needs: "read" | "write";
  /** Arguments passed by position; all others are members of the objects that follow. */
  readonly positional: readonly string[];
  /** True if an input object comes between the positional arguments and the options. */
  readonly takesObject: boolean;
}

const read = (...positional: readonly string[]): LibraryMethod => ({ needs: "read", positional, takesObject: false });
const write = (...positional: readonly string[]): LibraryMethod => ({ needs: "write", positional, takesObject: false });
const writeObject = (...positional: readonly string[]): LibraryMethod => ({ needs: "write", positional, takesObject: true });

/** The library's methods over HTTP. Server and client both use this table, so they cannot differ; the compiler ensures that it is complete. */
export const libraryMethods: Readonly<Record<LibraryMethodName, LibraryMethod>> = {
  "state.set": write("key", "value"),
  "state.get": read("key"),
  "state.waitFor": read("key"),
  "state.delete": write("key"),
  "state.list": read(),
  "state.commit": writeObject(),
  "state.watch": read(),
  "blobs.putChunks": write("chunks"),
  "blobs.assemble": writeObject(),
  "blobs.find": read("hash"),
  "blobs.readChunk": read("hash"),
  "leases.acquire": write("resource"),
  "leases.renew": write("resource"),
  "leases.release": write("resource"),
  "leases.list": read(),
  "effects.begin": writeObject(),
  "effects.keepAlive": write("attempt"),
  "effects.finish": write("attempt", "outcome"),
  "effects.resolve": writeObject(),
  "effects.get": read("id"),
  "effects.list": read(),
  "workflows.create": writeObject(),
  "workflows.find": read(),
  "workflows.get": read("runId"),
  "workflows.claim": writeObject(),
  "workflows.renew": write("runId"),
  "workflows.giveBack": write("runId"),
  "workflows.wake": write("runId"),
  "workflows.checkpoint": write("runId", "step", "output"),
  "workflows.resume": read("runId"),
  "workflows.finish": writeObject("runId"),
  "sessions.save": write("sessionId", "context"),
  "sessions.restore": read("sessionId"),
  "journal.save": writeObject(),
  "journal.get": read("idOrPart"),
  "journal.list": read(),
  "journal.search": read("query"),
  "journal.highlights": read("entry"),
  "research.save": writeObject(),
  "research.list": read(),
  "research.load": read("idOrPart"),
  "knowledge.save": writeObject(),
  "knowledge.get": read("name"),
  "knowledge.recall": read("query"),
  resume: read(),
  history: read(),
  health: read(),
};

export const libraryMethodNames = Object.keys(libraryMethods) as LibraryMethodName[];

/** Combines the arguments of a call into the one object that is sent. */
export function wireArguments(name: LibraryMethodName, args: readonly unknown[]): Record<string, unknown> {
  const { positional } = libraryMethods[name];
  const { signal: _, ...given }: Record<string, unknown> = Object.assign({}, ...args.slice(positional.length));
  for (const [i, argument] of positional.entries()) given[argument] = args[i];
  return given;
}

/** The inverse of `wireArguments`. `call` holds options that the receiver adds. */
export function callArguments(name: LibraryMethodName, given: Readonly<Record<string, unknown>>, call: Readonly<Record<string, unknown>>): readonly unknown[] {
  const { positional, takesObject } = libraryMethods[name];
  const others = Object.fromEntries(Object.entries(given).filter(([argument]) => !positional.includes(argument)));
  return [...positional.map((argument) => given[argument]), ...(takesObject ? [others] : []), { ...others, ...call }];
}

/** A wait over HTTP ends before proxies and clients time out; the client then starts another one. */
export const waitPartMsMax = 50_000;
