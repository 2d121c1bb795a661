import { isIPv4 } from "node:net";

/** Whether only this machine can reach what is bound to the address. */
export function isLoopbackAddress(address: string): boolean {
  const plain = address.toLowerCase().replace(/^\[(.*)\]$/, "$1");
  if (plain === "localhost" || plain === "::1") return true;
  const four = plain.replace(/^::ffff:/, "");
  return isIPv4(four) && four.startsWith("127.");
}
