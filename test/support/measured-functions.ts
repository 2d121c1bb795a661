import { isLatin } from "../../src/domain/findable/stored-vectors.ts";
import { isTokenSecret } from "../../src/domain/identity/tokens.ts";
import { parseTimeRange } from "../../src/domain/journal/time-range.ts";
import { timeOfQuestion } from "../../src/domain/journal/time-words.ts";
import { matchedWords } from "../../src/domain/matched-words.ts";
import { turningWords, wordStems } from "../../src/domain/near-text.ts";
import { checkpointId, slugOf } from "../../src/domain/research/checkpoint-id.ts";
import { isNearDuplicate } from "../../src/domain/research/near-duplicate.ts";
import { storedLines } from "../../src/domain/resume/stored-lines.ts";
import { onOneLine, plainName, quoted, quotedInline, visible } from "../../src/domain/stored-text.ts";
import { readServerSettings } from "../../src/engines/postgres/server-settings.ts";
import { parseRedisUrl } from "../../src/engines/redis/redis-url.ts";
import { termName } from "../../src/engines/sqlite/text-index.ts";
import { lineEndOf, lineOf } from "../../src/install/edit.ts";
import { jsonEntry } from "../../src/install/edit-json.ts";
import { markedBlock, ownFile, withOwnership } from "../../src/install/edit-text.ts";
import { tomlTable } from "../../src/install/edit-toml.ts";
import { fromBase64 } from "../../src/kernel/base64.ts";
import { parseDurationMs } from "../../src/kernel/duration.ts";
import { HoldfastError } from "../../src/kernel/errors.ts";
import { exceededBound, outlineOf } from "../../src/kernel/json-bounds.ts";
import { isLoopbackAddress } from "../../src/kernel/loopback-address.ts";
import { mustBeOneOf } from "../../src/kernel/nearest.ts";
import { hasPassword, schemeOf, shownUrl, storeAddress, storeProblem } from "../../src/kernel/store-url.ts";
import { estimateTokens } from "../../src/kernel/tokens.ts";
import { termSum, textSum } from "../../src/ledger/record-sum.ts";
import { indexText, questionTerms } from "../../src/search/index-text.ts";
import { unpackVectors } from "../../src/search/short-vector.ts";
import { stemOf } from "../../src/search/stem.ts";
import { tokens } from "../../src/search/tokenizer.ts";
import { cutText } from "../../src/surfaces/claude/transcript-text.ts";
import { describeFailure } from "../../src/surfaces/cli/failure.ts";
import { parseLease } from "../../src/surfaces/cli/read-arguments.ts";
import { safeText, shorten, textWidth, wrap, wrapProse } from "../../src/surfaces/cli/terminal-text.ts";
import { messagesIn, oneLine, requireMessage } from "../../src/surfaces/connect/messages-in.ts";
import { requireTarget } from "../../src/surfaces/connect/target.ts";
import { readCredential } from "../../src/surfaces/http/bearer.ts";
import { isTrustedUrl } from "../../src/surfaces/http/jwt-settings.ts";
import { hostName, isSameOrigin } from "../../src/surfaces/http/request-origin.ts";
import { readTarget } from "../../src/surfaces/http/request-target.ts";
import { eventOf } from "../../src/surfaces/mcp/http/answer-http.ts";
import { targetOf } from "../../src/surfaces/mcp/resource-uris.ts";
import { readEffectCall } from "../../src/surfaces/proxy/read-call.ts";
import { toAscii } from "../../src/tools/ascii.ts";
import { fromCursor } from "../../src/tools/cursor.ts";
import { shortened } from "../../src/tools/input-problems.ts";
import { finished } from "../../src/tools/journal-text.ts";
import { likePattern } from "../../src/tools/like-pattern.ts";
import { findSecrets, redactSecrets } from "../../src/tools/secret-shapes.ts";
import { requireNoSecret } from "../../src/tools/secret-switch.ts";
import { checkpointFromYaml } from "../../src/transfer/mirror/checkpoint-file.ts";
import { fileNameOf } from "../../src/transfer/mirror/file-name.ts";
import { noteFromMarkdown } from "../../src/transfer/mirror/note-file.ts";
import { splitFrontMatter } from "../../src/transfer/originals/front-matter.ts";
import { memoryToEntry, readMemoryFile } from "../../src/transfer/originals/goldfish-memories.ts";
import { fieldsOfMarkdown } from "../../src/transfer/originals/sage-markdown.ts";
import { excessOf } from "./text-growth.ts";

const claim = (text: string) => ({ coreQuestion: text, thesis: text });
const entry = { command: "holdfast", args: [] };

/** Each function that is given a text of any length, by its file and name, and a call of it. */
export const measured: Readonly<Record<string, (text: string) => unknown>> = {
  "domain/findable/stored-vectors.ts isLatin": isLatin,
  "search/short-vector.ts unpackVectors": (text) => unpackVectors(text, 16),
  "domain/identity/tokens.ts isTokenSecret": isTokenSecret,
  "domain/journal/time-range.ts parseTimeRange": (text) => parseTimeRange("since", text, 1_700_000_000_000),
  "domain/journal/time-words.ts timeOfQuestion": (text) => timeOfQuestion(text, 1_700_000_000_000),
  "domain/matched-words.ts matchedWords": (text) => matchedWords(["absent"], text, text),
  "domain/research/checkpoint-id.ts checkpointId": (text) => checkpointId(1_700_000_000_000, text, 1),
  "domain/research/checkpoint-id.ts slugOf": slugOf,
  "domain/near-text.ts turningWords": turningWords,
  "domain/near-text.ts wordStems": wordStems,
  "domain/research/near-duplicate.ts isNearDuplicate": (text) => isNearDuplicate(claim(text), claim(`${text} `)),
  "domain/resume/stored-lines.ts storedLines": (text) => storedLines(text, Number.MAX_SAFE_INTEGER),
  "domain/stored-text.ts plainName": (text) => plainName(text),
  "domain/stored-text.ts quoted": quoted,
  "domain/stored-text.ts quotedInline": (text) => quotedInline(text),
  "domain/stored-text.ts visible": visible,
  "domain/stored-text.ts onOneLine": (text) => onOneLine(text, 200),
  "engines/postgres/server-settings.ts readServerSettings": (text) => readServerSettings(`postgres://${text}`),
  "engines/redis/redis-url.ts parseRedisUrl": (text) => parseRedisUrl(`redis://${text}`),
  "engines/sqlite/text-index.ts termName": termName,
  "install/edit-json.ts jsonEntry": (text) => jsonEntry("file", "entry", ["servers", "holdfast"], entry).add(`{"a": ${JSON.stringify(text)}}`),
  "install/edit-text.ts markedBlock": (text) => markedBlock("file", "block", "content").add(text),
  "install/edit-text.ts ownFile": (text) => ownFile("file", "file", "content").add(text),
  "install/edit-text.ts withOwnership": withOwnership,
  "install/edit-toml.ts tomlTable": (text) => tomlTable("file", "table", ["servers", "holdfast"], entry).add(text),
  "install/edit.ts lineEndOf": lineEndOf,
  "install/edit.ts lineOf": (text) => lineOf(text, text.length),
  "kernel/base64.ts fromBase64": fromBase64,
  "kernel/duration.ts parseDurationMs": parseDurationMs,
  "kernel/json-bounds.ts exceededBound": (text) => exceededBound(Buffer.from(text), { depthMax: 100, elementsMax: 1_000_000 }),
  "kernel/json-bounds.ts outlineOf": (text) => outlineOf(Buffer.from(text)),
  "kernel/loopback-address.ts isLoopbackAddress": isLoopbackAddress,
  "kernel/nearest.ts mustBeOneOf": (text) => mustBeOneOf(text, ["state", "lease"]),
  "kernel/store-url.ts schemeOf": schemeOf,
  "kernel/store-url.ts storeProblem": storeProblem,
  "kernel/store-url.ts shownUrl": (text) => shownUrl(`postgres://${text}`),
  "kernel/store-url.ts storeAddress": (text) => storeAddress(`postgres://${text}`),
  "kernel/store-url.ts hasPassword": (text) => hasPassword(`postgres://${text}`),
  "kernel/tokens.ts estimateTokens": estimateTokens,
  "search/index-text.ts indexText": (text) => indexText("area", [{ text, weight: 1 }]),
  "search/index-text.ts questionTerms": (text) => questionTerms(text),
  "search/stem.ts stemOf": stemOf,
  "search/tokenizer.ts tokens": (text) => Array.from(tokens(text)).length,
  "ledger/record-sum.ts termSum": (text) => termSum(1, text),
  "ledger/record-sum.ts textSum": textSum,
  "surfaces/cli/failure.ts describeFailure": (text) => describeFailure(new HoldfastError("internal", text)),
  "surfaces/cli/read-arguments.ts parseLease": (text) => parseLease("lease", text),
  "surfaces/cli/terminal-text.ts textWidth": textWidth,
  "surfaces/cli/terminal-text.ts wrapProse": (text) => wrapProse(text, 80),
  "surfaces/cli/terminal-text.ts wrap": (text) => wrap(text, 80),
  "surfaces/cli/terminal-text.ts safeText": (text) => safeText(text),
  "surfaces/cli/terminal-text.ts shorten": shorten,
  "surfaces/connect/messages-in.ts messagesIn": messagesIn,
  "surfaces/connect/messages-in.ts requireMessage": requireMessage,
  "surfaces/connect/messages-in.ts oneLine": (text) => oneLine(JSON.stringify(text)),
  "surfaces/connect/target.ts requireTarget": requireTarget,
  "surfaces/claude/transcript-text.ts cutText": cutText,
  "surfaces/http/bearer.ts readCredential": (text) => readCredential({ headers: { authorization: text }, rawHeaders: ["authorization", text] }),
  "surfaces/http/jwt-settings.ts isTrustedUrl": isTrustedUrl,
  "surfaces/http/request-origin.ts hostName": hostName,
  "surfaces/http/request-origin.ts isSameOrigin": (text) => isSameOrigin(`http://${text}`, text),
  "surfaces/http/request-target.ts readTarget": (text) => readTarget(`/${text}`, Number.POSITIVE_INFINITY),
  "surfaces/mcp/http/answer-http.ts eventOf": (text) => eventOf(text),
  "surfaces/mcp/resource-uris.ts targetOf": (text) => targetOf(`holdfast://state/${text}`),
  "surfaces/proxy/read-call.ts readEffectCall": (text) => readEffectCall({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "send", arguments: { text } } }, text, {}),
  "tools/ascii.ts toAscii": toAscii,
  "tools/cursor.ts fromCursor": (text) => fromCursor("list", text),
  "tools/input-problems.ts shortened": shortened,
  "tools/journal-text.ts finished": (text) => finished({ emoji: false, ascii: true, echoes: false, nowMs: 0 }, text),
  "tools/like-pattern.ts likePattern": (text) => likePattern("%a%_%A").matches(text),
  "tools/secret-shapes.ts findSecrets": (text) => findSecrets(text),
  "tools/secret-shapes.ts redactSecrets": (text) => redactSecrets(text, findSecrets(text)),
  "tools/secret-switch.ts requireNoSecret": (text) => requireNoSecret(text, "field"),
  "transfer/mirror/checkpoint-file.ts checkpointFromYaml": (text) => checkpointFromYaml(`thesis: ${JSON.stringify(text)}\n`),
  "transfer/mirror/file-name.ts fileNameOf": fileNameOf,
  "transfer/mirror/note-file.ts noteFromMarkdown": (text) => noteFromMarkdown(`---\nid: a\n---\n${text}`),
  "transfer/originals/goldfish-memories.ts readMemoryFile": (text) =>
    readMemoryFile(`---\nid: checkpoint_1\ntimestamp: 1\nnext: ${JSON.stringify(text)}\n---\n${text}`, "a.md", "a"),
  "transfer/originals/goldfish-memories.ts memoryToEntry": (text) => memoryToEntry({ id: "checkpoint_1", timestamp: 1, evidence: text }, text, "a.md", "a"),
  "transfer/originals/sage-markdown.ts fieldsOfMarkdown": (text) => fieldsOfMarkdown(`# question\n\n## Thesis\n${text}\n\n## Sources\n- ${text}\n`),
  "transfer/originals/front-matter.ts splitFrontMatter": splitFrontMatter,
};

const answerOrRefusal = (work: (text: string) => unknown) => (text: string) => {
  try {
    return work(text);
  } catch (error) {
    return error;
  }
};

/** In which of these texts the function costs more for each character the longer they are; the first few. */
export function slowTexts(work: (text: string) => unknown, texts: Iterable<(length: number) => string>, length: number): readonly string[] {
  const slow: string[] = [];
  for (const textOf of texts) {
    const excess = excessOf(answerOrRefusal(work), textOf, length);
    if (excess !== undefined) slow.push(`${JSON.stringify(textOf(12))}: ${excess.toFixed(1)} times the cost for each character`);
    if (slow.length > 2) break;
  }
  return slow;
}
