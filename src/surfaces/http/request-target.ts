import { Refusal } from "./refusal.ts";

/** The parsed path of a request. Nothing is resolved or repaired, and a path that two parsers could interpret differently is rejected. */
export interface RequestTarget {
  /** As it was sent. */
  readonly path: string;
  /** Decoded; an encoded slash stays inside its segment. */
  readonly segments: readonly string[];
  /** Without the question mark. */
  readonly query: string;
}

const mcpTarget: RequestTarget = { path: "/mcp", segments: ["mcp"], query: "" };

export function readTarget(url: string, targetBytesMax: number): RequestTarget {
  if (url === "/mcp") return mcpTarget;
  if (url.length > targetBytesMax) throw new Refusal("limit_exceeded", `A path with its query must be at most ${targetBytesMax} bytes.`, { status: 414 });
  if (!url.startsWith("/") || url.startsWith("//")) throw malformed("must begin with one slash");
  const mark = url.indexOf("?");
  const path = mark < 0 ? url : url.slice(0, mark);
  if (path.includes("#") || path.includes("\\")) throw malformed("must not hold # or \\");
  return { path, segments: path.slice(1).split("/").map(decodeSegment), query: mark < 0 ? "" : url.slice(mark + 1) };
}

function decodeSegment(segment: string): string {
  let text = segment;
  if (segment.includes("%")) {
    try {
      text = decodeURIComponent(segment);
    } catch {
      throw malformed("holds a percent sign that encodes nothing");
    }
  }
  if (text === "." || text === "..") throw malformed("must not hold . or .. as a part");
  if (/[\0-\x1f\x7f]/.test(text)) throw malformed("must not hold control characters");
  return text;
}

const malformed = (problem: string): Refusal => new Refusal("invalid_input", `path: ${problem}`);
