let ordinals = 0;

/** Increases with every call in this process, to order things that happen at the same moment. */
export const nextOrdinal = (): number => {
  ordinals += 1;
  return ordinals;
};

/** The source that browsers and workers have too: the remote client is made of the same parts. */
const randomBytes = (count: number): Uint8Array => crypto.getRandomValues(new Uint8Array(count));

/** `hexDigits` random hexadecimal digits from the system's secure source. */
export const randomHex = (hexDigits: number): string =>
  Array.from(randomBytes(Math.ceil(hexDigits / 2)), (byte) => byte.toString(16).padStart(2, "0"))
    .join("")
    .slice(0, hexDigits);

/** This many random bytes from the system's secure source, as text that needs no escaping in a header or URL. */
export const randomBase64Url = (bytes: number): string => Buffer.from(randomBytes(bytes)).toString("base64url");
