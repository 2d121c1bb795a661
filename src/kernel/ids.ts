import { randomBytes } from "node:crypto";

/** `hexDigits` random hexadecimal digits from the system's secure source. */
export const randomHex = (hexDigits: number): string =>
  randomBytes(Math.ceil(hexDigits / 2))
    .toString("hex")
    .slice(0, hexDigits);
