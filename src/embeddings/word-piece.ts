import { HoldfastError } from "../kernel/errors.ts";

/** Converts text to the token ids of a BERT-type model, as described by its `tokenizer.json`. */
export interface WordPiece {
  /** Includes the start and end tokens, and is cut to the model's maximum length. */
  encode(text: string): readonly number[];
}

interface TokenizerFile {
  readonly model?: {
    readonly type?: unknown;
    readonly vocab?: unknown;
    readonly unk_token?: unknown;
    readonly continuing_subword_prefix?: unknown;
    readonly max_input_chars_per_word?: unknown;
  };
  readonly normalizer?: {
    readonly type?: unknown;
    readonly lowercase?: unknown;
    readonly strip_accents?: unknown;
    readonly handle_chinese_chars?: unknown;
    readonly clean_text?: unknown;
  } | null;
  readonly pre_tokenizer?: { readonly type?: unknown } | null;
  readonly truncation?: { readonly max_length?: unknown } | null;
}

const ideographs = /[\u4e00-\u9fff\u3400-\u4dbf\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}\u{2b820}-\u{2ceaf}\uf900-\ufaff\u{2f800}-\u{2fa1f}]/gu;
/** BERT treats these ASCII characters as punctuation, including those that Unicode classifies as symbols. */
const punctuation = /([\p{P}$+<=>^`|~])/gu;
/** The default if the file does not give a maximum: every BERT-type model accepts this many. */
const idsMaxDefault = 256;

/** Rejects other kinds of tokenizers by name: their ids would be meaningless to the model. */
export function readWordPiece(file: TokenizerFile): WordPiece {
  const { model, normalizer, pre_tokenizer: preTokenizer } = file;
  requireKind("model", model?.type, "WordPiece");
  requireKind("normalizer", normalizer?.type, "BertNormalizer");
  requireKind("pre_tokenizer", preTokenizer?.type, "BertPreTokenizer");
  const vocabulary = new Map(Object.entries((model?.vocab ?? {}) as Record<string, number>));
  const idOf = (token: string): number => {
    const id = vocabulary.get(token);
    if (id === undefined) throw new HoldfastError("invalid_input", `tokenizer.json: the vocabulary has no ${token}`);
    return id;
  };
  const [begin, end, unknown] = [idOf("[CLS]"), idOf("[SEP]"), idOf(String(model?.unk_token ?? "[UNK]"))];
  const idsMax = typeof file.truncation?.max_length === "number" ? file.truncation.max_length : idsMaxDefault;
  const continued = String(model?.continuing_subword_prefix ?? "##");
  const wordMax = Number(model?.max_input_chars_per_word ?? 100);
  const lowers = normalizer?.lowercase !== false;
  const strips = normalizer?.strip_accents === true || ((normalizer?.strip_accents ?? null) === null && lowers);
  const normalise = (text: string): string => {
    let plain = normalizer?.clean_text === false ? text : text.replaceAll(/[\0\ufffd]|(?![\t\n\r])[\p{Cc}\p{Cf}]/gu, "").replaceAll(/\s/gu, " ");
    if (normalizer?.handle_chinese_chars !== false) plain = plain.replaceAll(ideographs, " $& ");
    if (strips) plain = plain.normalize("NFD").replaceAll(/\p{Mn}/gu, "");
    return lowers ? plain.toLowerCase() : plain;
  };
  const pieces = (word: string): readonly number[] => {
    const characters = [...word];
    if (characters.length > wordMax) return [unknown];
    const ids: number[] = [];
    for (let start = 0; start < characters.length; ) {
      let stop = characters.length;
      let id: number | undefined;
      // The longest prefix that is in the vocabulary.
      for (; stop > start; stop -= 1) {
        id = vocabulary.get(`${start > 0 ? continued : ""}${characters.slice(start, stop).join("")}`);
        if (id !== undefined) break;
      }
      if (id === undefined) return [unknown];
      ids.push(id);
      start = stop;
    }
    return ids;
  };
  return {
    encode(text) {
      const ids: number[] = [];
      for (const word of normalise(text).replaceAll(punctuation, " $1 ").split(/\s+/u)) {
        if (word !== "") ids.push(...pieces(word));
        if (ids.length >= idsMax) break;
      }
      return [begin, ...ids.slice(0, idsMax - 2), end];
    },
  };
}

function requireKind(part: string, found: unknown, wanted: string): void {
  if (found === wanted) return;
  throw new HoldfastError("invalid_input", `tokenizer.json: ${part} ${JSON.stringify(found ?? null)} is not supported; must be "${wanted}", as BERT-type models have it`, {
    hint: "Serve the model through an endpoint instead: --embeddings URL.",
  });
}
