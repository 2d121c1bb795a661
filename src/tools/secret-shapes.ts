/**
 * Finds secrets that can be recognised by their shape. It makes one pass over the text without regular expressions, so the time depends only on
 * the length of the text, whatever it contains. An opening counts only at the start of a word, unless `anywhere` is set.
 */
export interface FoundSecret {
  readonly kind: string;
  readonly start: number;
  readonly end: number;
}

/** Returns the range of the secret whose opening is at `at`. */
type Match = (text: string, at: number) => readonly [start: number, end: number] | undefined;

interface Shape {
  readonly kind: string;
  readonly opening: string;
  readonly match: Match;
  /** The opening may be inside a word. */
  readonly anywhere?: true;
}

const [upper, lower, digit, hexLetter, dashUnderscore, base64More, tokenMore, authorityEnd] = [1, 2, 4, 8, 16, 32, 64, 128];
const alnum = upper | lower | digit;
const upperDigit = upper | digit;
const hex = digit | hexLetter;
const base64Url = alnum | dashUnderscore;
const base64 = alnum | base64More;
const token = base64Url | base64More | tokenMore;

/** The character classes of each ASCII character. */
const classes = new Uint8Array(128);
for (let code = 0; code < 128; code += 1) {
  const character = String.fromCharCode(code);
  if (character >= "A" && character <= "Z") classes[code] = upper;
  if (character >= "a" && character <= "z") classes[code] = lower | (character <= "f" ? hexLetter : 0);
  if (character >= "0" && character <= "9") classes[code] = digit;
  if (character === "-" || character === "_") classes[code] = dashUnderscore;
  if (character === "+" || character === "/") classes[code] = base64More;
  if (character === "." || character === "~" || character === "=") classes[code] = tokenMore;
  if ("/?#\"'<>`\\,; \t\r\n".includes(character)) classes[code] = (classes[code] as number) | authorityEnd;
}

const isIn = (text: string, at: number, characters: number): boolean => {
  const code = text.charCodeAt(at);
  return code < 128 && ((classes[code] as number) & characters) !== 0;
};

/** The end of the run of such characters that starts here, at most `most` characters long. */
function runEnd(text: string, from: number, characters: number, most = Number.POSITIVE_INFINITY): number {
  const last = Math.min(text.length, from + most);
  let at = from;
  while (at < last && isIn(text, at, characters)) at += 1;
  return at;
}

/** Exactly this many characters after the opening. */
const exactly =
  (openingLength: number, count: number, characters: number): Match =>
  (text, at) => {
    const from = at + openingLength;
    const end = runEnd(text, from, characters, count + 1);
    return end - from === count && !isIn(text, end, alnum) ? [at, end] : undefined;
  };

const atLeast =
  (openingLength: number, count: number, characters: number): Match =>
  (text, at) => {
    const from = at + openingLength;
    const end = runEnd(text, from, characters);
    return end - from >= count ? [at, end] : undefined;
  };

const shape = (kind: string, openings: readonly string[], match: (openingLength: number) => Match, anywhere?: true): Shape[] =>
  openings.map((opening) => ({ kind, opening, match: match(opening.length), anywhere }));

/** The longest label between the dashes, such as `RSA PRIVATE KEY`. */
const labelMax = 40;
function privateKey(text: string, at: number): readonly [number, number] | undefined {
  const labelFrom = at + "-----BEGIN ".length;
  const labelEnd = text.slice(labelFrom, labelFrom + labelMax).indexOf("-----");
  if (labelEnd < 0 || !text.slice(labelFrom, labelFrom + labelEnd).includes("PRIVATE KEY")) return undefined;
  const endLine = text.indexOf("-----END ", labelFrom + labelEnd);
  // A truncated key is still a secret, up to its last character.
  if (endLine < 0) return [at, text.length];
  const dashes = text.slice(endLine + "-----END ".length, endLine + "-----END ".length + labelMax).indexOf("-----");
  return [at, dashes < 0 ? text.length : endLine + "-----END ".length + dashes + "-----".length];
}

/** Three parts, of which the first two are JSON objects: `{"` encodes to `eyJ`. */
function jwt(text: string, at: number): readonly [number, number] | undefined {
  const headerEnd = runEnd(text, at, base64Url);
  if (headerEnd - at < 12 || !text.startsWith(".eyJ", headerEnd)) return undefined;
  const payloadEnd = runEnd(text, headerEnd + 1, base64Url);
  if (text[payloadEnd] !== ".") return undefined;
  const end = runEnd(text, payloadEnd + 1, base64Url);
  return end - payloadEnd > 20 ? [at, end] : undefined;
}

const authorityMax = 1_024;
const colonCode = ":".charCodeAt(0);
const atSignCode = "@".charCodeAt(0);
/** Text about URLs has one of these at the start of the password's position. */
const placeholders = new Set([..."$<{[(*%…"]);

/** `scheme://user:password@host`: only the password counts. */
function urlPassword(text: string, at: number): readonly [number, number] | undefined {
  if (!isIn(text, at - 1, alnum)) return undefined;
  const from = at + "://".length;
  const last = Math.min(text.length, from + authorityMax);
  let colon = -1;
  let atSign = -1;
  for (let i = from; i < last && !isIn(text, i, authorityEnd); i += 1) {
    const code = text.charCodeAt(i);
    if (code === colonCode && colon < 0) colon = i;
    if (code === atSignCode) atSign = i;
  }
  if (colon < 0 || atSign <= colon + 1 || placeholders.has(text[colon + 1] as string)) return undefined;
  return [colon + 1, atSign];
}

/** `Bearer` followed by at least 20 token characters that include a digit, which is not ordinary prose. */
const bearer =
  (openingLength: number): Match =>
  (text, at) => {
    const from = at + openingLength;
    const end = runEnd(text, from, token);
    if (end - from < 20) return undefined;
    for (let i = from; i < end; i += 1) if (isIn(text, i, digit)) return [from, end];
    return undefined;
  };

const secretAccessKeyLength = 40;
const isSecretAccessKey = (text: string, from: number): boolean => runEnd(text, from, base64, secretAccessKeyLength + 1) - from === secretAccessKeyLength;

/** This key has no recognisable shape; only the name before it identifies it. */
const namedSecretAccessKey =
  (openingLength: number): Match =>
  (text, at) => {
    let from = at + openingLength;
    for (const last = from + 12; from < last && " \t\r\n\"'\\=:".includes(text[from] ?? "x"); from += 1);
    return from > at + openingLength && isSecretAccessKey(text, from) ? [from, from + secretAccessKeyLength] : undefined;
  };

const shapes: readonly Shape[] = [
  { kind: "private-key", opening: "-----BEGIN ", match: privateKey, anywhere: true },
  { kind: "jwt", opening: "eyJ", match: jwt },
  { kind: "url-password", opening: "://", match: urlPassword, anywhere: true },
  ...shape("bearer-token", ["Bearer ", "bearer "], bearer),
  ...shape("holdfast-token", ["hf_"], (length) => exactly(length, 43, base64Url)),
  ...shape("holdfast-token", ["hf_"], (length) => exactly(length, 51, base64Url)),
  ...shape("aws-access-key", ["AKIA", "ASIA"], (length) => exactly(length, 16, upperDigit)),
  ...shape("aws-secret-key", ["aws_secret_access_key", "AWS_SECRET_ACCESS_KEY", "SecretAccessKey", "secretAccessKey"], namedSecretAccessKey),
  ...shape("azure-storage-key", ["AccountKey="], (length) => exactly(length, 86, base64)),
  ...shape("google-api-key", ["AIza"], (length) => exactly(length, 35, base64Url)),
  ...shape("google-oauth", ["ya29."], (length) => atLeast(length, 20, base64Url)),
  ...shape("google-oauth", ["GOCSPX-"], (length) => exactly(length, 28, base64Url)),
  ...shape("github-token", ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], (length) => exactly(length, 36, alnum)),
  ...shape("github-token", ["github_pat_"], (length) => exactly(length, 82, base64Url)),
  ...shape("gitlab-token", ["glpat-"], (length) => atLeast(length, 20, base64Url)),
  ...shape("slack-token", ["xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xapp-"], (length) => atLeast(length, 20, base64Url)),
  ...shape("slack-webhook", ["hooks.slack.com/services/T"], (length) => atLeast(length, 30, alnum | base64More), true),
  ...shape("stripe-key", ["sk_live_", "rk_live_", "sk_test_", "rk_test_", "whsec_"], (length) => atLeast(length, 24, alnum)),
  ...shape("openai-key", ["sk-proj-", "sk-svcacct-", "sk-admin-"], (length) => atLeast(length, 40, base64Url)),
  ...shape("openai-key", ["sk-"], (length) => exactly(length, 48, alnum)),
  ...shape("anthropic-key", ["sk-ant-"], (length) => atLeast(length, 40, base64Url)),
  ...shape("hugging-face-token", ["hf_"], (length) => exactly(length, 34, alnum)),
  ...shape("npm-token", ["npm_"], (length) => exactly(length, 36, alnum)),
  ...shape("pypi-token", ["pypi-AgE"], (length) => atLeast(length, 60, base64Url)),
  ...shape("sendgrid-key", ["SG."], (length) => atLeast(length, 60, base64Url | tokenMore)),
  ...shape("twilio-key", ["SK"], (length) => exactly(length, 32, hex)),
  ...shape("digitalocean-token", ["dop_v1_", "doo_v1_", "dor_v1_"], (length) => exactly(length, 64, hex)),
  ...shape("databricks-token", ["dapi"], (length) => exactly(length, 32, hex)),
  ...shape("docker-token", ["dckr_pat_"], (length) => atLeast(length, 20, base64Url)),
  ...shape("vault-token", ["hvs.", "hvb."], (length) => atLeast(length, 24, base64Url)),
  ...shape("shopify-token", ["shpat_", "shpss_", "shppa_", "shpca_"], (length) => exactly(length, 32, hex)),
  ...shape("grafana-token", ["glsa_", "glc_"], (length) => atLeast(length, 32, base64Url | base64More)),
  ...shape("age-key", ["AGE-SECRET-KEY-1"], (length) => exactly(length, 58, upperDigit)),
];

export const secretKinds: readonly string[] = [...new Set(shapes.map(({ kind }) => kind))];

/** Shapes by the code of the first character of their opening. */
const byFirst: (readonly Shape[] | undefined)[] = [];
for (const each of shapes) {
  const code = each.opening.charCodeAt(0);
  byFirst[code] = [...(byFirst[code] ?? []), each];
}

/** In text order, without overlaps. `member`: the name of the object member that holds the text. */
export function findSecrets(text: string, member?: string): readonly FoundSecret[] {
  const found: FoundSecret[] = [];
  if (member !== undefined && text.length === secretAccessKeyLength && isSecretAccessKeyName(member) && isSecretAccessKey(text, 0))
    return [{ kind: "aws-secret-key", start: 0, end: text.length }];
  let inWord = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    const candidates = code < 128 ? byFirst[code] : undefined;
    const secret: FoundSecret | undefined = candidates === undefined ? undefined : secretAt(text, at, candidates, inWord);
    if (secret !== undefined) {
      found.push(secret);
      at = secret.end - 1;
    }
    inWord = secret === undefined ? code < 128 && ((classes[code] as number) & base64Url) !== 0 : isIn(text, at, base64Url);
  }
  return found;
}

function secretAt(text: string, at: number, candidates: readonly Shape[], inWord: boolean): FoundSecret | undefined {
  for (const { kind, opening, match, anywhere } of candidates) {
    if ((inWord && anywhere === undefined) || !text.startsWith(opening, at)) continue;
    const span = match(text, at);
    if (span !== undefined) return { kind, start: span[0], end: span[1] };
  }
  return undefined;
}

const isSecretAccessKeyName = (name: string): boolean => {
  const plain = name.slice(0, 40).toLowerCase().replaceAll("_", "").replaceAll("-", "");
  return plain === "awssecretaccesskey" || plain === "secretaccesskey";
};

export const redactedText = (kind: string): string => `[redacted:${kind}]`;

export function redactSecrets(text: string, found: readonly FoundSecret[]): string {
  const parts: string[] = [];
  let from = 0;
  for (const { kind, start, end } of found) {
    parts.push(text.slice(from, start), redactedText(kind));
    from = end;
  }
  parts.push(text.slice(from));
  return parts.join("");
}
