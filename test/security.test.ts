import { existsSync, readFileSync } from "node:fs";
import { parseSync } from "oxc-parser";
import { describe, expect, test } from "vitest";

/**
 * What the product promises about security, and the tests that hold each promise. docs/security.md tells users the same in their words.
 * A test that is renamed or removed is missed here; a promise without a test cannot be written down.
 */
const held: readonly { readonly promise: string; readonly by: Readonly<Record<string, readonly string[]>> }[] = [
  {
    promise: "1. It listens on loopback by default; on a wider address it does not start before there is a credential, and an empty one is none.",
    by: {
      "surfaces/http/start.test.ts": ["on loopback and on any free port that it names", "on %s while no credential exists, and prints the command that creates one"],
      "surfaces/http-auth/credentials.test.ts": ["only a valid token or a configured issuer counts as a credential; an empty one does not"],
      "surfaces/http-auth/processes.test.ts": ["do not start on a wider address before there is a token, say which command makes one, and start when it was run"],
    },
  },
  {
    promise: "2. Host and Origin are checked before any tool runs; no CORS header unless configured, never for everybody.",
    by: {
      "surfaces/http/host-and-origin.test.ts": [
        "refuses a request with two names, and one without any",
        "refuses what a browser says is %s, though it names no origin",
        "sends no CORS header to any origin, and answers a preflight with 405",
        "refuse the origin %j",
      ],
    },
  },
  {
    promise: "3. Every route with data in it needs a credential; liveness alone is open and says nothing but alive.",
    by: {
      "surfaces/http-auth/matrix.test.ts": ["lets through what each route and tool declares and nothing else, with zero leaks", "a route that requires no credential"],
      "surfaces/http/requests.test.ts": ["liveness reports only that the process is alive, to every caller"],
      "surfaces/http/tenants.test.ts": [
        "the figures are for who may use every namespace",
        "readiness requires a credential, liveness does not",
        "figures of the whole store, its file and its settings are for principals of every namespace; others see only their own",
      ],
      "tools/visible-facts.test.ts": ["the facts of one namespace do not change with others' work in theirs, on $name"],
    },
  },
  {
    promise: "4. Tokens are random, stored hashed, compared in constant time, never logged, never taken from an address or a cookie; they expire and can be revoked.",
    by: {
      "domain/identity.test.ts": [
        "has a secret of 256 random bits that nothing in the store repeats, not even as its id",
        "whose stored hash is not that of the secret is no token, although its id fits",
        "expires to the millisecond by the store's clock, and history says so",
        "is revoked once and for all, by the one that history names",
      ],
      "domain/identity-compare.test.ts": ["a secret is compared in constant time, as a whole hash, whether it is right or wrong"],
      "surfaces/http-auth/credentials.test.ts": [
        "counts nowhere else: not in the address, not in a cookie, not in another header",
        "does not reveal whether a token ever was: unknown, expired and revoked ones answer alike",
        "by revocation is seen everywhere within … ms, whatever is remembered",
        "is answered without asking the store after a few, with the time to come back; good tokens of the same address continue",
      ],
      "surfaces/http-auth/processes.test.ts": ["learn of a new token at once and of a revoked one soon, and none of them ever logs a secret"],
      "surfaces/http-auth/recheck-credentials.test.ts": ["open streams of a revoked or expired token are closed within seconds; those of others continue"],
      "surfaces/http/requests.test.ts": ["holds no token, path, query or header of a caller"],
      "surfaces/dashboard-api/token-makers.test.ts": [
        "ends no later, and the refusal says when that is",
        "takes no place from those who look after other namespaces, however many administrators they make of themselves",
      ],
    },
  },
  {
    promise: "4b. JWTs of a configured issuer: issuer, audience, expiry and algorithm are checked, and clients find the metadata they expect.",
    by: {
      "surfaces/http-auth/jwt.test.ts": [
        "%s is refused",
        "signed with an algorithm that is not on the list is refused, although the signature is right",
        "that arrive as %s admit no caller, and the issuer is not queried for a few seconds",
        "of metadata that speaks for another issuer, or leads out of TLS, are not used",
      ],
      "surfaces/http-auth/resource-metadata.test.ts": [
        "of the %s era learns where the issuer is named, and finds it there",
        "gets the scope that would suffice, as clients that can request more expect",
      ],
    },
  },
  {
    promise: "5. Roles and --read-only are enforced by each tool's declared effect, on every transport, by list and by name.",
    by: {
      "surfaces/http-auth/matrix.test.ts": [
        "lets through what each route and tool declares and nothing else, with zero leaks",
        "on a read-only server no credential changes anything",
        "one tool that a read token may call, on one path alone",
      ],
      "surfaces/mcp-process.test.ts": ["offers no mutating tool with --read-only, by list or by name"],
      "surfaces/http/tenants.test.ts": ["gets the tools of its role: read only those that change nothing, write all but those that clear everything"],
    },
  },
  {
    promise: "6. Handles are unguessable where knowing one gives access; unknown and foreign ones answer alike; lists show only what the caller may read.",
    by: {
      "surfaces/http-auth/handles.test.ts": [
        "of a session of the handshake era is 256 random bits, and is useless to any caller but its own",
        "of something in another namespace answers as one that never was",
        "of a token that is for other namespaces answers as one that never was, and the list does not show it",
        "of a namespace by another spelling opens nothing that the plain one does not",
      ],
      "surfaces/mcp-http/mcp-sessions.test.ts": ["of another caller answers like one that never existed, for every request"],
    },
  },
  {
    promise: "7. Who did it comes from the credential, or from the operating system; what callers say of themselves is a label beside it.",
    by: {
      "surfaces/http-auth/writer.test.ts": [
        "is the token's principal on every path, whatever the call, the client and the headers say it is",
        "is the system's user where the operator needs no token",
      ],
      "surfaces/mcp-process.test.ts": ["names the operating system's user as writer, whatever the client calls itself"],
      "surfaces/dashboard-api/token-makers.test.ts": [
        "is not one under which others write beside it whom the maker does not see, in whatever letters",
        "is not the operator's, unless the operator makes it",
      ],
      "tools/run-tool.test.ts": ["names the agent by agent_id or holder_id, and never replaces the writer by it"],
    },
  },
  {
    promise: "8. Callers with equal request ids never get each other's answers.",
    by: {
      "surfaces/http-auth/writer.test.ts": ["callers with equal request ids, on their own or shared connections, get their own answers"],
      "surfaces/mcp-http/streams.test.ts": ["keeps two callers with equal ids apart"],
      "load/sockets.campaign.ts": ["two clients that use the same ids for thousands of calls each get their own answers"],
      "surfaces/http/requests.test.ts": ["requests that are sent ahead are answered in their order, each with its own answer"],
    },
  },
  {
    promise: "9. Everything has a limit that answers 413, 429 or a tool error, and slow or idle callers are cut off.",
    by: {
      "surfaces/http/limits.test.ts": [
        "a head that comes slowly is refused with 408, however steadily it comes",
        "a body that comes slowly is refused with 408 and its memory given back",
        "a connection that asks nothing is closed",
        "a body that turns out too large is refused with 413, one byte less is not",
        "of one principal's requests in flight: over it 429, for others there is room",
        "of requests a second: over it 429 with when to come again, each principal for itself",
        "of one principal's open streams: over it 429; they take no room from calls",
      ],
      "surfaces/http/requests.test.ts": ["that is nested too deep is refused"],
      "surfaces/http/tenants.test.ts": ["a store creates no namespaces beyond its limit, for any caller; existing ones continue to work"],
      "surfaces/mcp-http/resource-hubs.test.ts": ["one caller's streams leave room for others, and closed ones free their place"],
      "load/sockets.campaign.ts": ["bodies of 100 MB are refused without being taken", "unread streams, and some that are flooded, cost little and are closed"],
      "store/conformance/hostile.ts": [
        "refused for its size or shape: too deep, without end, too many elements, too long",
        "a key of exactly the largest size is kept, a larger one refused",
      ],
    },
  },
  {
    promise: "10. Statements and scripts hold nothing that callers sent, search syntax is text, and no pattern of theirs runs as a regular expression.",
    by: {
      "security-statements.test.ts": [
        "no SQL text holds anything that a caller sent, on SQLite",
        "no SQL text holds anything that a caller sent, on PostgreSQL",
        "no script holds anything that a caller sent: keys and values are arguments, on Redis",
        "no regular expression is made of input: those that are made at all were looked at by a person",
      ],
      "store/conformance/search.ts": ["search syntax and hostile text are terms like any other"],
      "tools/like-pattern.test.ts": ["a pattern made to be slow is answered as fast as any other"],
    },
  },
  {
    promise: "11. Files stay inside their folder, links are not followed, and only their owner can read them.",
    by: {
      "domain/mirror.test.ts": [
        "writes files and folders for their owner only, and a checkpoint can be read back from its file",
        "a symbolic link in the place of the folder, a folder below it or the file is refused, and its target is left alone",
      ],
      "store/sqlite-file.test.ts": ["folders are made for the owner only, and so is every file of the store, whatever the umask"],
      "transfer/hostile-sources.test.ts": [
        "a link to a file or folder outside is reported and not followed",
        "an index that points outside its folder reads nothing there",
        "ids with path and pattern characters are refused by name, and no file is made of them",
      ],
      "transfer/export.test.ts": ["replaces a file only when it is complete, and refuses what is no file"],
    },
  },
  {
    promise: "12. Stored text is data: in no list, instruction or prompt, and fenced where a model reads it.",
    by: {
      "tools/stored-text-hostile.test.ts": [
        "stands only in marked lines, whatever a reader takes for the end of a line, and cannot steer it",
        "a workspace's name, a branch or a session's id cannot pass for a sentence of ours",
      ],
      "surfaces/mcp-clients.test.ts": ["gets prompts that hold nothing stored, with their arguments quoted"],
    },
  },
  {
    promise: "13. The page is under a strict policy, shows stored text as text, and answers no other site.",
    by: {
      "surfaces/http/static-files.test.ts": ["is under a policy that lets it load from here alone, run nothing inline and not be framed by any page"],
      "surfaces/http/host-and-origin.test.ts": ["refuses what a browser says is %s, though it names no origin"],
      "browser/hostile.test.ts": ["in %s, wide and on a phone", "an address with hostile parts leads to a thing of that name or to nowhere, never into markup"],
      "browser/access.test.ts": ["a read-only viewer sees everything but no buttons, and the server refuses the same actions"],
    },
  },
  {
    promise: "14. Errors show nothing of our insides, and the log has one line for each event.",
    by: {
      "surfaces/http/requests.test.ts": ["a handler that throws is answered with 500 and nothing of our insides; the log has it, and the server continues"],
      "tools/run-tool.test.ts": ["that answers %j against its own schema becomes internal, and the log says where"],
      "kernel/log.test.ts": ["is bounded, however large or deep the facts are"],
    },
  },
  {
    promise: "15. Known shapes of secrets in values can be refused or redacted.",
    by: {
      "tools/secrets.test.ts": ["refuse: %s says where, not what, and stores nothing", "redact: %s keeps everything but the secret, in the store, its history and its copies"],
    },
  },
  {
    promise: "16. A handler that throws never ends the process, and standard output carries only protocol.",
    by: {
      "surfaces/http/requests.test.ts": ["a handler that throws is answered with 500 and nothing of our insides; the log has it, and the server continues"],
      "surfaces/mcp-hostile.test.ts": ["random bytes", "a client that stops reading for good ends the connection, not the process"],
      "surfaces/mcp-process.test.ts": ["ends with code 0 when its input ends, with every answer written and nothing else on standard output"],
    },
  },
  {
    promise: "17. Few dependencies, an exact lock file, no install script, and tool definitions that a person reviewed.",
    by: {
      "package.test.ts": [
        "runs nothing at install and brings three dependencies, pinned: the drivers of the engines",
        "its lock file is complete for every platform, so that npm ci accepts it",
      ],
      "tools/contract.test.ts": ["$name is what was reviewed", "a tool's description is the same object every time: lists are compared by their bytes"],
    },
  },
];

interface Node {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** The titles of the tests in a file that run: `test("…")` and `test.each(…)("…")`, not those that are skipped or still to be written. */
function titlesIn(source: string): ReadonlySet<string> {
  const titles = new Set<string>();
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(visit);
    if (typeof value !== "object" || value === null) return;
    const node = value as Node;
    if (node.type === "CallExpression" && isTest(node.callee as Node)) {
      const title = textOf((node.arguments as readonly Node[])[0]);
      if (title !== undefined) titles.add(title);
    }
    Object.values(node).forEach(visit);
  };
  visit(parseSync("a.ts", source, { lang: "ts" }).program);
  return titles;
}

function isTest(callee: Node): boolean {
  if (callee.type === "Identifier") return callee.name === "test";
  if (callee.type !== "CallExpression") return false;
  const { type, object, property } = callee.callee as Node;
  return type === "MemberExpression" && (object as Node).name === "test" && (property as Node).name === "each";
}

/** What stands between the words of a template is left out. */
function textOf(node: Node | undefined): string | undefined {
  if (node?.type === "Literal" && typeof node.value === "string") return node.value;
  if (node?.type !== "TemplateLiteral") return undefined;
  return (node.quasis as readonly { readonly value: { readonly cooked: string } }[]).map(({ value }) => value.cooked).join("…");
}

const readTest = (file: string): string => readFileSync(new URL(file, import.meta.url), "utf8");

describe("each promise about security is held by tests that are there and run", () => {
  test.each(held)("$promise", ({ by }) => {
    const missing = Object.entries(by).flatMap(([file, titles]) => {
      if (!existsSync(new URL(file, import.meta.url))) return [`${file} is not there`];
      const there = titlesIn(readTest(file));
      return titles.filter((title) => !there.has(title)).map((title) => `${file} has no test ${JSON.stringify(title)}`);
    });
    expect(missing).toEqual([]);
    expect(Object.values(by).flat().length).toBeGreaterThan(0);
  });

  test("all seventeen, in order", () => {
    expect([...new Set(held.map(({ promise }) => Number.parseInt(promise, 10)))]).toEqual(Array.from({ length: 17 }, (_, i) => i + 1));
  });

  test("a test that is skipped, still to be written or only mentioned holds nothing", () => {
    const source = `
      test("runs", () => {});
      test.each([1])("runs %s", () => {});
      test(\`runs in \${1} s\`, () => {});
      test.skip("skipped", () => {});
      test.skip.each([1])("skipped %s", () => {});
      test.todo("to do");
      describe("a group", () => {});
      // test("mentioned", () => {});
      const text = 'test("quoted")';
    `;
    expect([...titlesIn(source)]).toEqual(["runs", "runs %s", "runs in … s"]);
  });
});
