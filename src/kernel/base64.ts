/** Base64 with padding, in every runtime: the remote client runs in browsers too. */

/** Characters that are passed to one call as arguments. */
const part = 8_192;

export function toBase64(bytes: Uint8Array): string {
  return typeof Buffer === "undefined" ? toBase64WithoutNode(bytes) : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

export function fromBase64(text: string): Uint8Array {
  return typeof Buffer === "undefined" ? fromBase64WithoutNode(text) : Buffer.from(text, "base64");
}

export function toBase64WithoutNode(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += part) text += String.fromCharCode(...bytes.subarray(at, at + part));
  return btoa(text);
}

export const fromBase64WithoutNode = (text: string): Uint8Array => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
