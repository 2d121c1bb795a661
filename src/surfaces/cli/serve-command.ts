import { invalidInput } from "../../kernel/errors.ts";
import type { Command, Invocation, ServeAnswer } from "./command.ts";
import { exitCodes } from "./command.ts";

export const serveCommand: Command = {
  path: ["serve"],
  summary: "Serve MCP over HTTP and the dashboard",
  details:
    "MCP is served at /mcp, and at /ns/NAME/mcp for a namespace by name; the dashboard is at /. On a loopback address, which is the default, callers on this machine need no token. To listen on any other address, create a token first: holdfast token create.\n\nCtrl-C or SIGTERM stops the server after the calls in flight have finished, with exit code 0. A second signal stops it at once.",
  operands: "",
  flags: [{ name: "stop-with-stdin", meaning: "Stop when standard input ends: for a program that starts a server of its own, however that program ends." }],
  examples: ["holdfast serve", "holdfast serve --port 9000 --store postgres://db.example.com/holdfast", "holdfast serve --host 0.0.0.0 --allowed-hosts holdfast.example.com"],
  run: runServe,
};

async function runServe({ host, flags, words, json }: Invocation): Promise<number> {
  if (words.length > 0) throw invalidInput("serve", `takes no arguments (got ${JSON.stringify(words[0])})`);
  const signals = countSignals(host);
  try {
    const { "stop-with-stdin": stopsWithStdin, ...settings } = flags;
    const serving = await host.serve(settings);
    host.stdout.write(json ? `${JSON.stringify(facts(serving))}\n` : `${sentence(serving)}\n`);
    await Promise.race([signals.reached(1), ...(stopsWithStdin === true ? [ended(host.stdin())] : [])]);
    const isStopped = serving[Symbol.asyncDispose]().then(() => true);
    return (await Promise.race([isStopped, signals.reached(2).then(() => false)])) ? exitCodes.ok : exitCodes.interrupted;
  } finally {
    signals.stop();
  }
}

/** Resolves when the input ends. Its data is discarded, and a read error counts as the end. */
async function ended(input: AsyncIterable<unknown>): Promise<void> {
  try {
    for await (const _ of input);
  } catch {
    return;
  }
}

const facts = ({ url, listensOn, mcpUrl, trustsOperator }: ServeAnswer) => ({
  url,
  listens_on: listensOn,
  mcp_url: mcpUrl,
  dashboard_url: `${url}/`,
  operator_without_token: trustsOperator,
});

/** Clients cannot connect to the wildcard address. */
const shownPlace = (listensOn: string): string => listensOn.replace(/^http:\/\/(?:0\.0\.0\.0|\[::\]):(\d+)$/, "every address, port $1");

const sentence = ({ url, listensOn, mcpUrl, trustsOperator }: ServeAnswer): string =>
  `Dashboard ${url}/  MCP ${mcpUrl}  (${url === listensOn ? "" : `listening on ${shownPlace(listensOn)}; `}${trustsOperator ? "no token needed on this machine; for others: holdfast token create" : "callers need a token: holdfast token create"})`;

/** Listens from the start, so that a signal during the opening of the store counts. */
function countSignals({ onSignal }: Invocation["host"]): { reached(count: number): Promise<void>; stop(): void } {
  let seen = 0;
  const waits: { readonly count: number; readonly resolve: () => void }[] = [];
  const stop = onSignal(() => {
    seen += 1;
    for (const { count, resolve } of waits) if (seen >= count) resolve();
  });
  return {
    reached: (count) =>
      new Promise((resolve) => {
        if (seen >= count) resolve();
        else waits.push({ count, resolve });
      }),
    stop,
  };
}
