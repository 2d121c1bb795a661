import { beginEffect } from "../../../src/domain/effects/begin-effect.ts";
import type { EffectReport } from "../../../src/domain/effects/finish-effect.ts";
import { finishEffect } from "../../../src/domain/effects/finish-effect.ts";
import type { EffectIdentity } from "../../../src/domain/effects/identity.ts";
import { openEngine } from "../../../src/engines/open-store.ts";
import type { Clock } from "../../../src/kernel/clock.ts";
import { systemClock } from "../../../src/kernel/clock.ts";
import { silentLog } from "../../../src/kernel/log.ts";
import { engineFacts } from "../../../src/store/engine-facts.ts";
import { openNamespaceStore } from "../../../src/store/namespace-store.ts";
import { catalog } from "../../../src/tools/catalog.ts";
import { runTool } from "../../../src/tools/run-tool.ts";
import { seededRandom } from "../../support/seeded-random.ts";

const minuteMs = 60_000;
const dayMs = 86_400_000;

type Call = readonly [minutesAgo: number, writer: string, tool: string, args: Record<string, unknown> | ((answers: Answers) => Record<string, unknown>), namespace?: string];
/** What earlier calls answered, by the name they were given. */
type Answers = ReadonlyMap<string, Record<string, unknown>>;

/** Fills a store with an hour (and some days) of a small fleet's work, each call at its own time. Ends now. */
export async function fillDemoStore(url: string): Promise<void> {
  const endMs = Date.now();
  let nowMs = endMs - 4 * dayMs;
  const clock: Clock = { ...systemClock, nowMs: () => nowMs };
  await using engine = await openEngine(url, { clock });
  const answers = new Map<string, Record<string, unknown>>();
  const effects = demoEffects.toSorted((a, b) => b.ago - a.ago);
  const performUntil = async (minutesAgo: number): Promise<void> => {
    for (let next = effects[0]; next !== undefined && next.ago >= minutesAgo; next = effects[0]) {
      effects.shift();
      nowMs = Math.round(endMs - next.ago * minuteMs);
      const scope = { store: openNamespaceStore(engine, "default", clock), clock, writer: "fleet", agent: next.agent };
      const begun = await beginEffect(scope, { identity: next.identity, liveMs: next.liveMs ?? 30_000 });
      if (begun.outcome === "begun" && next.ends !== undefined) await finishEffect(scope, { ...begun, outcome: next.ends });
    }
  };
  for (const [minutesAgo, writer, name, args, namespace = "default"] of demoCalls().toSorted((a, b) => b[0] - a[0])) {
    await performUntil(minutesAgo);
    nowMs = Math.round(endMs - minutesAgo * minuteMs);
    const tool = catalog.find((each) => each.name === name);
    if (tool === undefined) throw new Error(`There is no tool ${name}.`);
    const store = openNamespaceStore(engine, namespace, clock);
    const given = typeof args === "function" ? args(answers) : args;
    const base = { store, clock, writer, server: { version: "demo", startedAtMs: nowMs, claimTtlMs: 15 * minuteMs, ...engineFacts(engine) } };
    const outcome = await runTool(tool, given, base, {}, silentLog);
    if (!outcome.ok) throw new Error(`${name} ${JSON.stringify(given)}: ${outcome.error.message}`);
    answers.set(`${name} ${String(given.run_id ?? given.resource_id ?? given.key ?? "")}`, outcome.structured);
  }
  await performUntil(0);
}

interface DemoEffect {
  readonly ago: number;
  readonly agent: string;
  readonly identity: EffectIdentity;
  readonly liveMs?: number;
  readonly ends?: EffectReport;
}

/** As programs journal them: no tool begins one. */
const demoEffects: readonly DemoEffect[] = [
  {
    ago: 190,
    agent: "coder-1",
    identity: { name: "invoice-mail-4711", run: "migrate-invoices-2026-11", step: 2, tool: "mail.send", args: { to: "billing@example.com", subject: "Invoices are moved" } },
    ends: { state: "done", answer: { message: "m-20931" } },
  },
  {
    ago: 95,
    agent: "deployer",
    identity: { tool: "github.release", args: { repository: "shop", tag: "v2.14.0" } },
    ends: { state: "failed", error: { status: 422, message: "tag exists" } },
  },
  { ago: 42, agent: "coder-1", identity: { name: "payment-88", run: "migrate-invoices-2026-11", step: 7, tool: "bank.pay", args: { order: 88, amount: 129.9, currency: "EUR" } } },
  { ago: 12, agent: "deployer", identity: { name: "announce-v2.14", tool: "chat.post", args: { channel: "#releases", text: "v2.14 is out" } } },
  { ago: 1, agent: "deployer", identity: { name: "cdn-purge", tool: "cdn.purge", args: { paths: ["/*"] } }, liveMs: 3_600_000 },
];

function demoCalls(): readonly Call[] {
  return [...runs(), ...leases(), ...keys(), ...journal(), ...knowledge(), ...research(), ...elsewhere()];
}

interface Work {
  readonly name: string;
  readonly id: string;
  readonly createdAgo: number;
  readonly takes: readonly { readonly agent: string; readonly ago: number; readonly ttl?: number; readonly steps: readonly (readonly [ago: number, output: unknown])[] }[];
  readonly ends?: readonly [ago: number, status: "done" | "failed" | "cancelled", value: unknown];
  readonly tags?: Record<string, string>;
  readonly input?: unknown;
}

function runCalls({ name, id, createdAgo, takes, ends, tags, input }: Work): readonly Call[] {
  const calls: Call[] = [[createdAgo, "fleet", "workflow_create", { name, run_id: id, ...(tags === undefined ? {} : { tags }), ...(input === undefined ? {} : { input }) }]];
  let step = 0;
  for (const { agent, ago, ttl = 900, steps } of takes) {
    calls.push([ago, "fleet", "workflow_claim", { run_id: id, agent_id: agent, ttl_seconds: ttl }]);
    for (const [at, output] of steps) {
      step += 1;
      calls.push([at, "fleet", "workflow_checkpoint", { run_id: id, step, output, agent_id: agent }]);
    }
  }
  const last = takes.at(-1)?.agent;
  if (ends !== undefined)
    calls.push([
      ends[0],
      "fleet",
      "workflow_finish",
      { run_id: id, status: ends[1], [ends[1] === "done" ? "result" : "error"]: ends[2], ...(last === undefined || ends[1] === "cancelled" ? {} : { agent_id: last }) },
    ]);
  return calls;
}

function runs(): readonly Call[] {
  const random = seededRandom(7);
  const finished = Array.from({ length: 34 }, (_, index): Work => {
    const endedAgo = 3 + index * 1.7 + (random(1_000) / 1_000) * 1.4;
    const took = 0.3 + (random(1_000) / 1_000) ** 3 * 9;
    const kind = ["review-change", "run-tests", "triage-issue", "update-snapshot"][index % 4] ?? "run-tests";
    const failed = index % 9 === 4;
    const agent = ["coder-1", "coder-2", "reviewer", "tester"][index % 4] ?? "tester";
    return {
      name: `${kind} #${481 - index}`,
      id: `wf-${(0x4a7c1f + index * 7919).toString(16).padStart(12, "0")}`,
      createdAgo: endedAgo + took + 0.4,
      tags: { team: index % 3 === 0 ? "search" : "payments", kind },
      takes: [{ agent, ago: endedAgo + took, steps: [[endedAgo + took * 0.6, { files: 3 + (index % 11), passed: true }]] }],
      ends: failed ? [endedAgo, "failed", { message: "Two tests failed.", tests: ["refund rounding", "currency of fees"] }] : [endedAgo, "done", { ok: true }],
    };
  });
  return [
    ...finished.flatMap(runCalls),
    ...runCalls({
      name: "migrate-invoices",
      id: "migrate-invoices-2026-11",
      createdAgo: 47,
      tags: { team: "payments", risk: "high" },
      input: { from: "invoices_v1", to: "invoices_v2", batch: 5000, dryRun: false },
      takes: [
        {
          agent: "coder-1",
          ago: 46,
          ttl: 420,
          steps: [
            [44, { phase: "schema", applied: ["create table invoices_v2", "create index invoices_v2_customer"], tookMs: 5312 }],
            [40, { phase: "copy", rows: 5000, lastId: "inv_0005000" }],
            [37, { phase: "copy", rows: 10000, lastId: "inv_0010000" }],
          ],
        },
        {
          agent: "coder-2",
          ago: 24,
          ttl: 1200,
          steps: [
            [21, { phase: "copy", rows: 15000, lastId: "inv_0015000", note: "continued after coder-1 stopped reporting" }],
            [15, { phase: "copy", rows: 20000, lastId: "inv_0020000" }],
            [8, { phase: "verify", checked: 20000, mismatches: 0 }],
            [1.2, { phase: "switch", reads: "v2", writes: "both" }],
          ],
        },
      ],
    }),
    ...runCalls({
      name: "nightly-index",
      id: "nightly-index-0412",
      createdAgo: 31,
      tags: { team: "search" },
      takes: [
        {
          agent: "indexer",
          ago: 30,
          ttl: 2400,
          steps: [28, 23, 17, 11, 6, 2.2].map((ago, index) => [ago, { shard: index + 1, of: 16, documents: 62_500 * (index + 1) }] as const),
        },
      ],
    }),
    ...runCalls({
      name: "review-change #482",
      id: "review-482",
      createdAgo: 4,
      tags: { team: "search", kind: "review-change" },
      takes: [{ agent: "reviewer", ago: 2.6, steps: [] }],
    }),
    ...runCalls({ name: "rotate-signing-keys", id: "rotate-signing-keys", createdAgo: 52, tags: { team: "platform" }, takes: [] }),
    ...runCalls({ name: "triage-issue #2210", id: "triage-2210", createdAgo: 1.4, tags: { team: "search" }, takes: [] }),
    ...runCalls({ name: "triage-issue #2211", id: "triage-2211", createdAgo: 0.6, tags: { team: "search" }, takes: [] }),
    ...runCalls({ name: "rebuild-thumbnails", id: "rebuild-thumbnails", createdAgo: 28, takes: [], ends: [26, "cancelled", "Superseded by the new image service."] }),
  ];
}

function hold(resource: string, holder: string, fromAgo: number, untilAgo: number | undefined, ttlSeconds = 600): readonly Call[] {
  const calls: Call[] = [[fromAgo, "fleet", "lease_acquire", { resource_id: resource, holder_id: holder, ttl_seconds: ttlSeconds }]];
  const end = untilAgo ?? 0.3;
  for (let ago = fromAgo - ttlSeconds / 120; ago > end; ago -= ttlSeconds / 120)
    calls.push([ago, "fleet", "lease_renew", { resource_id: resource, holder_id: holder, ttl_seconds: ttlSeconds }]);
  if (untilAgo !== undefined) calls.push([untilAgo, "fleet", "lease_release", { resource_id: resource, holder_id: holder }]);
  return calls;
}

const leases = (): readonly Call[] => [
  ...hold("deploy/production", "deployer", 56, 49),
  ...hold("deploy/production", "coder-2", 33, 29),
  ...hold("deploy/production", "deployer", 12, undefined, 900),
  ...hold("deploy/staging", "coder-1", 58, 51),
  ...hold("deploy/staging", "coder-2", 45, 41),
  ...hold("deploy/staging", "tester", 36, 22),
  ...hold("deploy/staging", "coder-2", 9, undefined),
  ...hold("db/migrations", "coder-1", 46, 36),
  ...hold("db/migrations", "coder-2", 24, undefined, 1200),
  ...hold("gpu/0", "indexer", 30, undefined, 1800),
  ...hold("gpu/1", "reviewer", 52, 40),
  ...hold("gpu/1", "tester", 27, 13),
];

function keys(): readonly Call[] {
  const random = seededRandom(11);
  const set = (ago: number, key: string, value: unknown, agent: string, more: Record<string, unknown> = {}): Call => [
    ago,
    "fleet",
    "state_set",
    { key, value, agent_id: agent, ...more },
  ];
  const pace = Array.from({ length: 60 }, (_, minute) =>
    Math.round(3 + 14 * Math.exp(-(((minute - 22) / 7) ** 2)) + 9 * Math.exp(-(((minute - 48) / 5) ** 2)) + (random(1_000) / 1_000) * 5),
  );
  const beats = pace.flatMap((count, minute) =>
    Array.from({ length: count }, (_, index): Call => {
      const agent = ["coder-1", "coder-2", "indexer", "tester", "reviewer"][(minute + index) % 5] ?? "tester";
      return set(60 - minute - (index + 0.5) / (count + 1) + 0.02, `agents/${agent}/progress`, { minute, done: index + 1, of: count }, agent);
    }),
  );
  const flags = { search: { newRanking: false, share: 0 }, payments: { retries: 2, providers: ["card", "transfer"] }, images: { service: "v1" } };
  return [
    ...beats,
    set(3 * 1440, "config/feature-flags", flags, "planner"),
    set(1440, "config/feature-flags", { ...flags, search: { newRanking: true, share: 0.05 } }, "planner"),
    set(190, "config/feature-flags", { ...flags, search: { newRanking: true, share: 0.25 }, images: { service: "v2" } }, "planner"),
    set(
      14,
      "config/feature-flags",
      { ...flags, search: { newRanking: true, share: 0.5 }, payments: { retries: 3, providers: ["card", "transfer", "wallet"] }, images: { service: "v2" } },
      "planner",
    ),
    set(2_000, "config/limits", { requestsPerSecond: 250, burst: 500, perTenant: { default: 50, trial: 5 } }, "planner"),
    set(2_000, "config/regions", ["eu-west", "eu-north", "us-east"], "planner"),
    set(35, "deploy/production/current", { version: "2026.11.2", commit: "9f2c1ab", by: "deployer" }, "deployer"),
    set(5, "deploy/production/current", { version: "2026.11.3", commit: "c04be71", by: "deployer" }, "deployer"),
    set(6, "deploy/staging/current", { version: "2026.11.4-rc1", commit: "77aa0d3", by: "coder-2" }, "coder-2"),
    set(22, "builds/481/status", "passed", "tester"),
    set(9, "builds/482/status", "running", "tester", { ttl_seconds: 7_200 }),
    set(9, "builds/482/log-tail", ["compiling 214 files", "linking", "running 1,204 tests"], "tester", { ttl_seconds: 7_200 }),
    set(120, "search/stopwords/de", ["der", "die", "das", "und"], "indexer"),
    set(118, "search/stopwords/fa", ["از", "به", "که"], "indexer"),
    set(117, "search/synonyms", { invoice: ["bill", "receipt"], refund: ["chargeback", "return"] }, "indexer"),
  ];
}

function journal(): readonly Call[] {
  const save = (ago: number, writer: string, workspace: string, description: string, more: Record<string, unknown> = {}): Call => [
    ago,
    writer,
    "checkpoint",
    { action: "save", workspace, description, ...more },
  ];
  return [
    save(12, "fleet", "payments", "Switched reads of invoices to the new table; writes still go to both.", {
      highlights: ["20,000 of 20,000 rows verified, no mismatch", "Rollback is one flag: payments.readsFrom"],
      activeFiles: ["src/invoices/read.ts", "src/invoices/write.ts", "migrations/0042_invoices_v2.sql"],
      gitBranch: "invoices-v2",
      tags: ["migration"],
    }),
    save(38, "fleet", "payments", "Copying invoices in batches of 5,000. A batch takes about 40 s; the database's load stays under 30 %.", {
      gitBranch: "invoices-v2",
      activeFiles: ["migrations/0042_invoices_v2.sql"],
      tags: ["migration"],
    }),
    save(52, "fleet", "search", "New ranking is at 25 % of requests. Clicks on the first hit went from 41 % to 47 %.", {
      highlights: ["No increase in empty answers"],
      gitBranch: "main",
    }),
    save(1_500, "fleet", "search", "Synonyms are read from the store now, so that an editor can change them without a release.", {
      highlights: ["search/synonyms is watched; a change is live within a second"],
      activeFiles: ["src/query/expand.ts"],
      gitBranch: "live-synonyms",
    }),
    save(1_620, "ops", "payments", "Refund rounding: half-even was used in one place and half-up in the other. Both use half-even now.", {
      activeFiles: ["src/refunds/round.ts", "test/refunds.test.ts"],
      gitBranch: "refund-rounding",
      tags: ["bug"],
    }),
    save(2_940, "fleet", "search", "Measured the index: 1.0 M documents, 3.2 GB, 94 ms p95. The tokenizer takes two thirds of the time.", {
      gitBranch: "main",
      tags: ["measurement"],
    }),
  ];
}

function knowledge(): readonly Call[] {
  const save = (ago: number, id: string, content: string, more: Record<string, unknown> = {}): Call => [ago, "fleet", "save_knowledge", { id, content, ...more }];
  return [
    save(
      5_000,
      "deploy/rollback",
      "# Rolling back production\n\nSet `deploy/production/current` to the version before and release the lease `deploy/production`.\nThe old images stay for 14 days.",
      { keywords: ["undo", "revert"], source: "docs/deploy.md" },
    ),
    save(
      900,
      "deploy/rollback",
      "# Rolling back production\n\nSet `deploy/production/current` to the version before and release the lease `deploy/production`.\nThe old images stay for 30 days.\n\nDatabase migrations are not rolled back: write one that goes forward.",
      {
        keywords: ["undo", "revert", "migration"],
        source: "docs/deploy.md",
      },
    ),
    save(4_000, "invoices/ids", "# Invoice ids are not dense\n\nIds are given in blocks of 100 per worker. Never count rows by subtracting ids.", {
      keywords: ["gaps", "sequence"],
      trust: "high",
    }),
    save(3_800, "search/ranking-v1", "# How ranking works\n\nScore is term frequency times field weight. Titles weigh 3, bodies 1."),
    save(1_200, "search/ranking-v2", "# How ranking works\n\nScore is BM25 with field weights (title 3, tags 2, body 1), then a freshness factor that halves after 90 days.", {
      supersedes: "search/ranking-v1",
      trust: "high",
      source: "src/query/rank.ts",
    }),
    save(3_000, "ci/flaky-tests", "# Flaky tests\n\nA test that fails once in CI and passes on retry is quarantined, never retried for ever. The list is in `ci/quarantine.txt`.", {
      keywords: ["retry", "intermittent"],
    }),
    save(2_500, "limits/providers", "# Provider limits\n\nThe card provider allows 25 requests per second per key; above that it answers 429 for a minute.", {
      skill: "payments",
      source: "provider's manual, page 12",
      keywords: ["rate", "429"],
    }),
    save(2_400, "style/commits", "# Commit messages\n\nOne sentence in the imperative, what and why. No ticket numbers in the subject.", { status: "archived" }),
    save(2_300, "images/service", "Pasted from a chat, not checked: the image service can be restarted at any time.", { trust: "quarantined" }),
  ];
}

function research(): readonly Call[] {
  return [
    [
      700,
      "fleet",
      "save_checkpoint",
      {
        core_question: "Why do one in twenty searches take more than a second?",
        thesis: "The slow ones have a term that occurs in most documents; scoring its postings is the whole cost, so postings of very common terms should be cut by impact.",
        confidence: 0.72,
        trigger: "synthesis",
        open_questions: ["Does cutting postings change the first ten hits?", "Is the cut the same for every language?"],
        sources: [
          { id: "trace of 2,000 slow requests", type: "observation", take: "94 % of the time is spent in one scoring loop.", relation: "supports" },
          { id: "src/query/score.ts", type: "code", take: "Reads every posting of every term, whatever its weight.", relation: "supports" },
          { id: "load of the index host", type: "observation", take: "Slow searches also cluster around compaction.", relation: "nuances" },
        ],
        tensions: [{ between: ["trace", "load of the host"], nature: "Compaction explains some of the slow ones as well; how many is not known.", resolution: "unresolved" }],
        unique_contributions: [{ type: "experiment", content: "Leaving out the three most common terms brings p95 from 1,180 ms to 140 ms." }],
        action: { goal: "Decide whether to change the scorer or the host", type: "decision" },
      },
    ],
    [
      2_800,
      "fleet",
      "save_checkpoint",
      {
        core_question: "Can invoices be moved without a maintenance window?",
        thesis: "Yes: copy in batches while writes go to both tables, verify, then switch reads by a flag.",
        confidence: 0.9,
        trigger: "transition",
        open_questions: ["How long do both tables have to be kept?"],
      },
    ],
  ];
}

const elsewhere = (): readonly Call[] => [
  [300, "ci", "state_set", { key: "cache/warm", value: true }, "builds"],
  [40, "ci", "workflow_create", { name: "package", run_id: "package-1" }, "builds"],
];
