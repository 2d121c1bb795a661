/**
 * Dot products of 8-bit vectors: integers in, integers out, so they are exact and the same on every machine. WebAssembly's SIMD processes sixteen components at a
 * time; plain JavaScript takes about thirty times as long. The module is small enough to be written here, instruction by instruction.
 */
const body: readonly number[] = [
  // Parameters: 0 question, 1 vectors, 2 stride, 3 count, 4 out. Locals: 5 sum (v128), 6 k (i32), 7 and 8 operands (v128).
  ...[0x03, 0x01, 0x7b, 0x01, 0x7f, 0x02, 0x7b],
  // block: leave it if count is 0; loop over the vectors.
  ...[0x02, 0x40, 0x20, 0x03, 0x45, 0x0d, 0x00, 0x03, 0x40],
  // sum = 0, k = 0; loop over the components, sixteen at a time.
  ...[0xfd, 0x0c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x21, 0x05, 0x41, 0x00, 0x21, 0x06, 0x03, 0x40],
  // Operands: v128.load of question + k and of vectors + k.
  ...[0x20, 0x00, 0x20, 0x06, 0x6a, 0xfd, 0x00, 0x00, 0x00, 0x21, 0x07],
  ...[0x20, 0x01, 0x20, 0x06, 0x6a, 0xfd, 0x00, 0x00, 0x00, 0x21, 0x08],
  // sum += i32x4.extadd_pairwise(i16x8.extmul_low(operands)), then the same with extmul_high.
  ...[0x20, 0x05, 0x20, 0x07, 0x20, 0x08, 0xfd, 0x9c, 0x01, 0xfd, 0x7e, 0xfd, 0xae, 0x01],
  ...[0x20, 0x07, 0x20, 0x08, 0xfd, 0x9d, 0x01, 0xfd, 0x7e, 0xfd, 0xae, 0x01, 0x21, 0x05],
  // k += 16, again while k < stride; end of the loop over the components.
  ...[0x20, 0x06, 0x41, 0x10, 0x6a, 0x22, 0x06, 0x20, 0x02, 0x49, 0x0d, 0x00, 0x0b],
  // *out = the four lanes of sum, added up.
  ...[0x20, 0x04, 0x20, 0x05, 0xfd, 0x1b, 0x00, 0x20, 0x05, 0xfd, 0x1b, 0x01, 0x6a],
  ...[0x20, 0x05, 0xfd, 0x1b, 0x02, 0x6a, 0x20, 0x05, 0xfd, 0x1b, 0x03, 0x6a, 0x36, 0x02, 0x00],
  // out += 4, vectors += stride, count -= 1, again while count > 0; end of the loop, the block and the function.
  ...[0x20, 0x04, 0x41, 0x04, 0x6a, 0x21, 0x04, 0x20, 0x01, 0x20, 0x02, 0x6a, 0x21, 0x01],
  ...[0x20, 0x03, 0x41, 0x01, 0x6b, 0x22, 0x03, 0x0d, 0x00, 0x0b, 0x0b, 0x0b],
];

/** Prefixes bytes with their length in WebAssembly's encoding; none here needs more than two bytes for it. */
const sized = (bytes: readonly number[]): number[] => [...(bytes.length < 128 ? [bytes.length] : [(bytes.length & 0x7f) | 0x80, bytes.length >> 7]), ...bytes];
const section = (id: number, bytes: readonly number[]): number[] => [id, ...sized(bytes)];

const wasm = Uint8Array.from([
  ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
  // One type: five i32, no result. One memory, imported as m.m. One function of that type, exported as f.
  ...section(1, [0x01, 0x60, 0x05, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x00]),
  ...section(2, [0x01, 0x01, 0x6d, 0x01, 0x6d, 0x02, 0x00, 0x01]),
  ...section(3, [0x01, 0x00]),
  ...section(7, [0x01, 0x01, 0x66, 0x00, 0x00]),
  ...section(10, [0x01, ...sized(body)]),
]);

/** The number of components processed at a time: strides are multiples of it. */
export const strideStep = 16;

/** The part of WebAssembly that is used, because Node's type library does not include it. */
interface GrowingMemory {
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}
interface WebAssemblyParts {
  readonly Memory: new (options: { readonly initial: number }) => GrowingMemory;
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: { readonly m: { readonly m: GrowingMemory } }) => { readonly exports: { readonly f: Scan } };
}

/** Addresses and the stride are in bytes. `out` gets a 32-bit product for each vector. */
type Scan = (question: number, vectors: number, stride: number, count: number, out: number) => void;

/** Memory for vectors, and the function that scans it. */
export function openScan(): { readonly memory: GrowingMemory; readonly scan: Scan } {
  const { Memory, Module, Instance } = (globalThis as unknown as { readonly WebAssembly: WebAssemblyParts }).WebAssembly;
  const memory = new Memory({ initial: 1 });
  return { memory, scan: new Instance(new Module(wasm), { m: { m: memory } }).exports.f };
}
