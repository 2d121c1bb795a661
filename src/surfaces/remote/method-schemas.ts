import * as z from "zod";
import { effectPolicies, effectStates } from "../../domain/effects/effect.ts";
import { historyKinds } from "../../domain/keyspace.ts";
import { runStatuses } from "../../domain/workflows/workflow.ts";
import { limits } from "../../store/limits.ts";
import { json, jsonObject, key, label, pageLimit, prefix, revision, tags, text, token, version } from "../../tools/fields.ts";
import type { LibraryMethodName } from "../library/library-methods.ts";
import { libraryMethods, waitPartMsMax } from "../library/library-methods.ts";

/** The arguments that each method accepts over HTTP, under the library's names. Values that the domain checks field by field are not checked here. */

const ttlMs = z.number().min(limits.ttlMsMin).max(limits.ttlMsMax);
const waitMs = z.number().min(0).max(waitPartMsMax);
const timeMs = z.number().min(0);
const limit = pageLimit(limits.readEntriesMax).optional();
const lease = z.strictObject({ resource: key, token });
const none = z.strictObject({});
const byText = z.array(text).optional();

/** A smaller limit, because the journal returns whole entries, which may be long. */
const entries = pageLimit(100).optional();
const workspace = text.optional();

/** Of blobs and chunks. The domain checks the form of a hash, and names the one that is wrong. */
const hash = z.string().max(128);
/** In base64. The domain checks how many and how long. */
const chunkTexts = z.array(z.string());
const blobs = z.array(hash).max(limits.entryBlobsMax).optional();

const write = z.discriminatedUnion("op", [
  z.strictObject({ op: z.literal("set"), key, value: json, ttlMs: ttlMs.optional(), blobs }),
  z.strictObject({ op: z.literal("delete"), key }),
]);

/** Loose, so that callers can pass the whole answer of `begin`. */
const attempt = z.looseObject({ id: text, token });
const outcome = z.discriminatedUnion("state", [
  z.strictObject({ state: z.literal("done"), answer: json }),
  z.strictObject({ state: z.literal("failed"), error: json }),
  z.strictObject({ state: z.literal("unknown"), reason: text }),
]);

const arguments_: Readonly<Record<LibraryMethodName, z.ZodObject>> = {
  "state.set": z.strictObject({ key, value: json, ttlMs: ttlMs.optional(), expectedVersion: version.optional(), lease: lease.optional(), blobs }),
  "state.get": z.strictObject({ key, version: version.optional(), revision: revision.optional() }),
  "state.waitFor": z.strictObject({ key, versionAbove: version, timeoutMs: waitMs, wasThere: z.boolean().optional() }),
  "state.delete": z.strictObject({ key, expectedVersion: version.optional(), lease: lease.optional() }),
  "state.list": z.strictObject({ prefix: prefix.optional(), limit, after: key.optional(), values: z.boolean().optional() }),
  "state.commit": z.strictObject({ writes: z.array(write), expected: z.array(z.strictObject({ key, version })).optional(), leases: z.array(lease).optional() }),
  "state.watch": z.strictObject({ key: key.optional(), prefix: prefix.optional(), after: version.optional() }),
  "blobs.putChunks": z.strictObject({ chunks: chunkTexts }),
  "blobs.assemble": z.strictObject({ bytes: z.int().min(0), chunks: z.array(hash), hash: hash.optional(), contents: chunkTexts.optional() }),
  "blobs.find": z.strictObject({ hash }),
  "blobs.readChunk": z.strictObject({ hash }),
  "leases.acquire": z.strictObject({ resource: key, ttlMs, waitMs: waitMs.optional() }),
  "leases.renew": z.strictObject({ resource: key, ttlMs, token: token.optional() }),
  "leases.release": z.strictObject({ resource: key, token: token.optional() }),
  "leases.list": z.strictObject({ limit, after: key.optional() }),
  "effects.begin": z.strictObject({
    scope: text.optional(),
    run: text.optional(),
    step: z.union([version, text]).optional(),
    ordinal: z.int().min(1).optional(),
    tool: key,
    args: json,
    name: key.optional(),
    guard: lease.optional(),
    liveMs: ttlMs.optional(),
    policy: z.enum(effectPolicies).optional(),
    keepMs: ttlMs.optional(),
    workspace,
    shownArgs: json.optional(),
  }),
  "effects.keepAlive": z.strictObject({ attempt, liveMs: ttlMs.optional() }),
  "effects.finish": z.strictObject({ attempt, outcome }),
  "effects.resolve": z.strictObject({ id: text, as: z.enum(["done", "failed"]), answer: json.optional(), reason: text.optional() }),
  "effects.get": z.strictObject({ id: text }),
  "effects.list": z.strictObject({ state: z.enum(effectStates).optional(), run: text.optional(), limit, after: text.optional() }),
  "workflows.create": z.strictObject({ name: key, tags: tags.optional(), input: json.optional(), runId: key.optional(), priority: z.int().optional(), workspace }),
  "workflows.find": z.strictObject({
    tags: tags.optional(),
    status: z.enum(runStatuses).optional(),
    claimable: z.boolean().optional(),
    // A smaller limit, because each run may include a result as long as a value.
    limit: pageLimit(100).optional(),
    after: key.optional(),
  }),
  "workflows.get": z.strictObject({ runId: key }),
  "workflows.claim": z.strictObject({ runId: key.optional(), tags: tags.optional(), ttlMs: ttlMs.optional() }),
  "workflows.renew": z.strictObject({ runId: key, ttlMs: ttlMs.optional(), token: token.optional() }),
  "workflows.giveBack": z.strictObject({ runId: key, token: token.optional(), claimableAfterMs: timeMs.optional() }),
  "workflows.wake": z.strictObject({ runId: key }),
  "workflows.checkpoint": z.strictObject({ runId: key, step: version, output: json, token: token.optional() }),
  "workflows.resume": z.strictObject({ runId: key, stepsAfter: version.optional(), limit }),
  "workflows.finish": z.strictObject({
    runId: key,
    status: z.enum(["done", "failed", "cancelled"]),
    result: json.optional(),
    error: json.optional(),
    retry: z.boolean().optional(),
    token: token.optional(),
  }),
  "sessions.save": z.strictObject({ sessionId: key, context: jsonObject, ttlMs: ttlMs.optional(), expectedVersion: version.optional() }),
  "sessions.restore": z.strictObject({ sessionId: key, version: version.optional() }),
  "journal.save": z.strictObject({
    description: text,
    highlights: byText,
    activeFiles: byText,
    tags: byText,
    gitBranch: text.optional(),
    workContext: text.optional(),
    questions: byText,
    global: z.boolean().optional(),
    workspace,
    sessionId: text.optional(),
    ttlMs: ttlMs.optional(),
  }),
  "journal.get": z.strictObject({ idOrPart: text, workspace }),
  "journal.list": z.strictObject({ workspace, limit: entries, fromMs: timeMs.optional(), untilMs: timeMs.optional(), before: text.optional() }),
  "journal.search": z.strictObject({ query: text, workspace, limit: entries, fromMs: timeMs.optional() }),
  "journal.highlights": z.strictObject({ entry: z.looseObject({ sessionId: text, workspace: z.looseObject({ id: text }) }), workspace }),
  "research.save": z.strictObject({
    coreQuestion: text,
    thesis: text,
    confidence: z.number(),
    trigger: text.optional(),
    openQuestions: byText,
    sources: json.optional(),
    tensions: json.optional(),
    uniqueContributions: json.optional(),
    action: json.optional(),
    skill: text.optional(),
    workspace,
    continues: text.optional(),
    questions: byText,
  }),
  "research.list": z.strictObject({ skill: text.optional(), workspace, query: text.optional(), also: byText, limit, after: text.optional() }),
  "research.load": z.strictObject({ idOrPart: text }),
  "knowledge.save": z.strictObject({
    id: text,
    content: text,
    keywords: byText,
    questions: byText,
    skill: text.optional(),
    source: text.optional(),
    status: text.optional(),
    trust: text.optional(),
    supersedes: text.optional(),
  }),
  "knowledge.get": z.strictObject({ name: text }),
  "knowledge.recall": z.strictObject({ query: text, also: byText, skill: text.optional(), limit: pageLimit(20).optional(), maxTokens: z.int().min(1).max(20_000).optional() }),
  resume: z.strictObject({ workspace, sinceRevision: version.optional(), query: text.optional(), skill: text.optional(), tokensMax: z.int().min(200).max(20_000).optional() }),
  history: z.strictObject({
    name: text.optional(),
    prefix: prefix.optional(),
    kind: z.enum(historyKinds).optional(),
    afterRevision: version.optional(),
    writer: text.optional(),
    limit: pageLimit(100).optional(),
    before: z.strictObject({ revision, seq: z.int().min(0) }).optional(),
  }),
  health: none,
};

const requestKey = z.string().refine((given) => given !== "" && Buffer.byteLength(given) <= limits.requestKeyBytesMax && !given.includes("\0") && given.isWellFormed(), {
  error: `must be 1 to ${limits.requestKeyBytesMax} bytes of well-formed text without NUL`,
});

/** Every call may name its agent, and every write may have a request key. */
export const methodSchema = (name: LibraryMethodName): z.ZodObject =>
  arguments_[name].extend({ agent: label.optional(), ...(libraryMethods[name].needs === "read" ? {} : { requestKey: requestKey.optional() }) });
