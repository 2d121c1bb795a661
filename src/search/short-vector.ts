/** A vector of length 1 with 8 bits per component: `components` × `scale` is the vector. */
export interface ShortVector {
  readonly components: Int8Array;
  readonly scale: number;
}

export const dimensionsMax = 4_096;
const componentMax = 127;
const scaleBytes = 4;

/** Undefined if the vector has no direction: only zeros, or a component that is not a number. */
export function toShortVector(values: ArrayLike<number>): ShortVector | undefined {
  let [squares, largest] = [0, 0];
  for (let i = 0; i < values.length; i += 1) {
    const value = values[i] as number;
    squares += value * value;
    largest = Math.max(largest, Math.abs(value));
  }
  if (!(squares > 0) || !Number.isFinite(squares)) return undefined;
  const step = largest / componentMax;
  const components = new Int8Array(values.length);
  for (let i = 0; i < values.length; i += 1) components[i] = Math.round((values[i] as number) / step);
  return { components, scale: Math.fround(step / Math.sqrt(squares)) };
}

/** Encodes vectors of one dimension as opaque text for a store: each vector's scale and components, one after another. */
export function packVectors(vectors: readonly ShortVector[]): string {
  const bytes = Buffer.concat(
    vectors.map(({ components, scale }) => {
      const head = Buffer.alloc(scaleBytes);
      head.writeFloatLE(scale);
      return Buffer.concat([head, new Uint8Array(components.buffer, components.byteOffset, components.length)]);
    }),
  );
  return bytes.toString("base64");
}

/** Undefined if the text does not consist of vectors with this many components. */
export function unpackVectors(text: string, dimensions: number): readonly ShortVector[] | undefined {
  const size = scaleBytes + dimensions;
  // Text that is not base64 takes Node several times as long to decode, and what the store holds is padded to whole groups.
  if (text.length % 4 !== 0) return undefined;
  const bytes = Buffer.from(text, "base64");
  if (bytes.length === 0 || bytes.length % size !== 0) return undefined;
  return Array.from({ length: bytes.length / size }, (_, i) => ({
    scale: bytes.readFloatLE(i * size),
    components: Int8Array.from(new Int8Array(bytes.buffer, bytes.byteOffset + i * size + scaleBytes, dimensions)),
  }));
}
