import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import type { Form } from "../../domain/stored-record.ts";
import { either, number, object, string } from "../../domain/stored-record.ts";
import { fromBase64, toBase64 } from "../../kernel/base64.ts";
import type { Holdfast } from "../library/holdfast.ts";

/** The output of a serializer as it is stored: inline in base64, or as a blob that the entry names. */
export type PackedValue = InlineValue | BlobValue;
interface InlineValue {
  readonly type: string;
  readonly base64: string;
}
interface BlobValue {
  readonly type: string;
  readonly blob: string;
  readonly bytes: number;
}

export const packedForm: Form<PackedValue> = either(object<InlineValue>({ type: string, base64: string }), object<BlobValue>({ type: string, blob: string, bytes: number }));

/** Longer values are blobs. Equal blobs are stored once, and the chunks of a blob are not read with the entry. */
export const inlineBytesMax = 65_536;

export async function packValue({ blobs }: Pick<Holdfast, "blobs">, serde: SerializerProtocol, value: unknown): Promise<PackedValue> {
  const [type, bytes] = await serde.dumpsTyped(value);
  if (bytes.byteLength <= inlineBytesMax) return { type, base64: toBase64(bytes) };
  const { hash } = await blobs.put(bytes);
  return { type, blob: hash, bytes: bytes.byteLength };
}

export async function unpackValue({ blobs }: Pick<Holdfast, "blobs">, serde: SerializerProtocol, packed: PackedValue): Promise<unknown> {
  const bytes = "blob" in packed ? await blobs.get(packed.blob) : new Uint8Array(fromBase64(packed.base64));
  return serde.loadsTyped(packed.type, bytes);
}

/** The blobs that an entry with these values must name. */
export const blobsOf = (...values: readonly PackedValue[]): readonly string[] => [...new Set(values.flatMap((value) => ("blob" in value ? [value.blob] : [])))];
