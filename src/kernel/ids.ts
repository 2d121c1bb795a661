import { randomBytes } from "node:crypto";

let ordinals = 0;

/** Grows with every call in this process: tells apart what happened in one and the same moment, in order. */
export const nextOrdinal = (): number => {
  ordinals += 1;
  return ordinals;
};

/** `hexDigits` random hexadecimal digits from the system's secure source. */
export const randomHex = (hexDigits: number): string =>
  randomBytes(Math.ceil(hexDigits / 2))
    .toString("hex")
    .slice(0, hexDigits);

/** So many random bytes from the system's secure source, as text that needs no escaping in a header or URL. */
export const randomBase64Url = (bytes: number): string => randomBytes(bytes).toString("base64url");
