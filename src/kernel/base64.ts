/** Base64 with padding where there is no Node: the remote client runs in browsers too, whose `btoa` is many times slower than this. */

const digits = new TextEncoder().encode("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
const padding = "=".charCodeAt(0);
const values = new Uint8Array(128);
for (const [value, digit] of digits.entries()) values[digit] = value;

export function toBase64(bytes: Uint8Array): string {
  const text = new Uint8Array(Math.ceil(bytes.length / 3) * 4).fill(padding);
  for (let from = 0, to = 0; from < bytes.length; from += 3, to += 4) {
    // Beyond the end of the bytes is undefined, which is 0 in a bit operation.
    const three = ((bytes[from] as number) << 16) | ((bytes[from + 1] as number) << 8) | (bytes[from + 2] as number);
    text[to] = digits[three >> 18] as number;
    text[to + 1] = digits[(three >> 12) & 63] as number;
    if (from + 1 < bytes.length) text[to + 2] = digits[(three >> 6) & 63] as number;
    if (from + 2 < bytes.length) text[to + 3] = digits[three & 63] as number;
  }
  return new TextDecoder().decode(text);
}

/** The text must be base64 with padding, as every server sends it. */
export function fromBase64(text: string): Uint8Array {
  const padded = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  const bytes = new Uint8Array((text.length / 4) * 3 - padded);
  const valueAt = (at: number): number => values[text.charCodeAt(at)] as number;
  for (let from = 0, to = 0; to < bytes.length; from += 4, to += 3) {
    const three = (valueAt(from) << 18) | (valueAt(from + 1) << 12) | (valueAt(from + 2) << 6) | valueAt(from + 3);
    bytes[to] = three >> 16;
    bytes[to + 1] = three >> 8;
    bytes[to + 2] = three;
  }
  return bytes;
}
