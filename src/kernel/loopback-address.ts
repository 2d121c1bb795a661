// A regular expression instead of node:net: only modules that need the network may load code that can open connections.
const loopbackFour = /^(?:::ffff:)?127(?:\.(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}$/;

/** Whether only this machine can reach a server bound to this address. */
export function isLoopbackAddress(address: string): boolean {
  const plain = address.toLowerCase().replace(/^\[(.*)\]$/, "$1");
  return plain === "localhost" || plain === "::1" || loopbackFour.test(plain);
}
