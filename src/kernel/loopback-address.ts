// Not node:net: whatever could open a connection is loaded only by the parts that exist for one.
const loopbackFour = /^(?:::ffff:)?127(?:\.(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}$/;

/** Whether only this machine can reach what is bound to the address. */
export function isLoopbackAddress(address: string): boolean {
  const plain = address.toLowerCase().replace(/^\[(.*)\]$/, "$1");
  return plain === "localhost" || plain === "::1" || loopbackFour.test(plain);
}
