const quote = 0x22;
const backslash = 0x5c;

/** Counts brackets outside strings. The text has been parsed, so it is known to be well-formed. */
export function nestedDeeperThan(json: Buffer, depthMax: number): boolean {
  if (json.length <= depthMax * 2) return false;
  let depth = 0;
  for (let i = 0; i < json.length; i += 1) {
    switch (json[i]) {
      case quote:
        // To the closing quote, in hops: strings are most of a large message.
        for (i = json.indexOf(quote, i + 1); isEscaped(json, i); i = json.indexOf(quote, i + 1));
        break;
      case 0x5b:
      case 0x7b:
        depth += 1;
        if (depth > depthMax) return true;
        break;
      case 0x5d:
      case 0x7d:
        depth -= 1;
        break;
      default:
    }
  }
  return false;
}

function isEscaped(json: Buffer, at: number): boolean {
  let backslashes = 0;
  while (json[at - 1 - backslashes] === backslash) backslashes += 1;
  return backslashes % 2 === 1;
}
