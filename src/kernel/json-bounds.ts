const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;

export interface JsonBounds {
  readonly depthMax: number;
  /** Counts members, items, objects and lists together. */
  readonly elementsMax: number;
}

/**
 * Checks the bounds before parsing: a few megabytes of brackets or tiny members take seconds to parse and a hundred times their size in memory.
 * For text that is not JSON the result is unspecified, but the check always ends.
 */
export function exceededBound(json: Buffer, { depthMax, elementsMax }: JsonBounds): "depth" | "elements" | undefined {
  // The text is too short to exceed either bound.
  if (json.length <= depthMax && json.length <= elementsMax) return undefined;
  let depth = 0;
  let elements = 0;
  for (let i = 0; i < json.length; i += 1) {
    switch (json[i]) {
      case quote:
        // Skip to the closing quote, because strings make up most of a large message.
        i = closingQuote(json, i);
        break;
      case comma:
        elements += 1;
        if (elements > elementsMax) return "elements";
        break;
      case 0x5b:
      case 0x7b:
        depth += 1;
        elements += 1;
        if (depth > depthMax) return "depth";
        if (elements > elementsMax) return "elements";
        break;
      case 0x5d:
      case 0x7d:
        depth -= 1;
        break;
      default:
    }
  }
  return undefined;
}

/** The outermost object with null in place of every nested object and list: enough to respond to a message that is too large to parse. */
export function outlineOf(json: Buffer): string {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (let i = 0; i < json.length; i += 1) {
    switch (json[i]) {
      case quote:
        i = closingQuote(json, i);
        break;
      case 0x5b:
      case 0x7b:
        depth += 1;
        if (depth === 2) parts.push(json.toString("utf8", from, i), "null");
        break;
      case 0x5d:
      case 0x7d:
        depth -= 1;
        if (depth === 1) from = i + 1;
        break;
      default:
    }
  }
  return parts.join("") + json.toString("utf8", from);
}

function closingQuote(json: Buffer, opening: number): number {
  for (let i = json.indexOf(quote, opening + 1); i >= 0; i = json.indexOf(quote, i + 1)) if (!isEscaped(json, i)) return i;
  return json.length;
}

function isEscaped(json: Buffer, at: number): boolean {
  let backslashes = 0;
  while (json[at - 1 - backslashes] === backslash) backslashes += 1;
  return backslashes % 2 === 1;
}
