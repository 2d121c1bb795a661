// The work of the demonstration's agents: everyday tasks of a software team in plain words. No real person appears in it.

/** Runs that the planner creates: name, team and the names of the steps. */
export const jobs = [
  { name: "Nightly catalogue import", team: "storefront", steps: ["fetch the feed", "check the rows", "match products", "write prices", "refresh search"] },
  { name: "Rebuild search index", team: "storefront", steps: ["snapshot the catalogue", "tokenise", "write segments", "swap the alias"] },
  { name: "Dependency audit", team: "platform", steps: ["read the lock files", "look up advisories", "open upgrades", "run the suites", "write the summary"] },
  { name: "Invoice run", team: "billing", steps: ["collect usage", "rate it", "draft invoices", "check totals", "send", "archive"] },
  { name: "Release notes", team: "docs", steps: ["collect merged changes", "group them", "draft", "link the issues"] },
  { name: "Image build", team: "platform", steps: ["resolve the base", "compile", "scan", "sign", "push"] },
  { name: "Link check", team: "docs", steps: ["crawl the pages", "follow links", "report broken ones"] },
  { name: "Translate new strings", team: "docs", steps: ["extract", "translate", "review terms", "commit"] },
  { name: "Backfill order totals", team: "billing", steps: ["find the gaps", "recompute 2024", "recompute 2025", "recompute 2026", "compare", "swap"] },
  { name: "Load test checkout", team: "storefront", steps: ["warm up", "ramp to 200/s", "hold", "cool down", "write the report"] },
];

export const resources = ["deploy/staging", "deploy/production", "merge/main", "migrations/billing", "gpu/0"];

export const flags = ["new-checkout", "fast-search", "dark-invoices", "beta-docs"];

export const journal = [
  {
    workspace: "storefront",
    branch: "fast-search",
    text: "Moved the search index to weekly segments. Rebuild time fell from 41 to 12 minutes on the staging data.",
    highlights: ["Segments are swapped by alias, so readers never see half an index", "The old index stays for one day in case we go back"],
    files: ["src/search/segments.ts", "src/search/alias.ts"],
    tags: ["search", "performance"],
  },
  {
    workspace: "storefront",
    branch: "main",
    text: "Checkout load test at 200 requests a second: p99 340 ms, no errors. The pool of the pricing service is the next limit.",
    highlights: ["Pricing pool saturates at 180 connections"],
    files: ["loadtest/checkout.ts"],
    tags: ["checkout", "load-test"],
  },
  {
    workspace: "billing-api",
    branch: "invoice-rounding",
    text: "Found the rounding difference: tax was rounded per line, the ledger rounds per invoice. Changed ours, added a test with the customer's figures.",
    highlights: ["Round once, at the end", "Eleven past invoices differ by one cent; listed in the backfill run"],
    files: ["src/invoice/round.ts", "test/invoice/round.test.ts"],
    tags: ["rounding", "ledger"],
  },
  {
    workspace: "billing-api",
    branch: "main",
    text: "Migration 0042 is in. It needs the lease migrations/billing and takes about four minutes; writes wait for it.",
    highlights: ["Take the lease before running migrations"],
    files: ["migrations/0042-usage-window.sql"],
    tags: ["migration"],
  },
  {
    workspace: "docs-site",
    branch: "navigation",
    text: "Reordered the guides: install, first run, recipes, reference. Old addresses redirect.",
    highlights: ["Redirects live in redirects.json and are checked by the link check run"],
    files: ["content/guides/index.md", "redirects.json"],
    tags: ["docs", "navigation"],
  },
  {
    workspace: "docs-site",
    branch: "main",
    text: "Link check is green again after fixing 14 broken anchors, all from the renamed reference pages.",
    highlights: [],
    files: ["content/reference/cli.md"],
    tags: ["docs"],
  },
];

export const notes = [
  {
    id: "deploy-window",
    skill: "deploy",
    content:
      "# Production deploys need the lease and the window\n\nDeploys to production run between 09:00 and 15:00 UTC and only while holding `deploy/production`.\nA hotfix may go outside the window when the error budget is below 20 %.",
    keywords: ["release", "production", "hours"],
    source: "runbook/deploy.md",
    trust: "high",
  },
  {
    id: "pricing-pool",
    content: "# The pricing service takes 180 connections\n\nBeyond that, requests queue and checkout slows down. Ask for more only after the pool size was raised on both sides.",
    keywords: ["checkout", "latency", "pool"],
    source: "load test of the checkout",
    trust: "medium",
  },
  {
    id: "invoice-rounding",
    content: "# Round an invoice once, at the end\n\nThe ledger rounds per invoice, not per line. Sum exact amounts first.",
    keywords: ["tax", "cent", "ledger"],
    source: "billing-api",
    trust: "high",
  },
  {
    id: "flaky-browser-suite",
    skill: "review",
    content: "# The browser suite fails when two runs share a port\n\nStart it with a free port. Not a reason to retry a review three times.",
    keywords: ["tests", "flaky"],
    trust: "medium",
  },
  {
    id: "search-stop-words",
    content: '# Stop words are not removed in product names\n\n"The North" is a brand. The tokenizer keeps every word of a title.',
    keywords: ["search", "tokenizer"],
    trust: "medium",
  },
  {
    id: "old-queue-names",
    content: "# Queue names begin with the region\n\nReplaced when the regions were merged.",
    keywords: ["queue"],
    status: "deprecated",
    trust: "low",
  },
  {
    id: "vendor-rate-limit",
    content: "# The feed answers 60 requests a minute\n\nTaken from a forum post and never confirmed.",
    keywords: ["feed", "import"],
    source: "forum",
    trust: "quarantined",
  },
  {
    id: "usage-window",
    skill: "deploy",
    content: "# Usage is counted in five-minute windows\n\nA window closes two minutes late, so that late events still count.",
    keywords: ["billing", "usage"],
    source: "migrations/0042-usage-window.sql",
    trust: "high",
  },
];

export const research = [
  {
    core_question: "Why does checkout slow down at the top of the hour?",
    thesis: "Scheduled imports and the price cache expire together, and every product page then asks the pricing service at once.",
    confidence: 0.55,
    open_questions: ["Does spreading the expiry help without the import?"],
    sources: [
      { id: "dashboard/pricing-latency", type: "observation", take: "Latency doubles for four minutes after each full hour.", relation: "supports" },
      { id: "import schedule", type: "document", take: "Imports start at minute 0 in three regions.", relation: "supports" },
    ],
  },
  {
    core_question: "Why does checkout slow down at the top of the hour?",
    thesis: "Spreading the cache's expiry over ten minutes removed the peak; the import alone costs 30 ms.",
    confidence: 0.85,
    sources: [{ id: "experiment 7", type: "observation", take: "With spread expiry p99 stayed below 200 ms.", relation: "supports" }],
  },
  {
    core_question: "Can the search index be rebuilt while it is being read?",
    thesis: "Yes, if readers resolve the alias once per request and segments are immutable.",
    confidence: 0.7,
    tensions: [{ between: ["memory use", "rebuild time"], nature: "Two indexes in memory for the length of a rebuild" }],
  },
  {
    core_question: "Is it worth caching rendered documentation pages?",
    thesis: "No: rendering takes 3 ms, and purging the cache after each release took longer than it saved.",
    confidence: 0.9,
  },
];
