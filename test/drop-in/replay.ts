import { join } from "node:path";
import { openSqliteEngine } from "../../src/engines/sqlite/sqlite-engine.ts";
import { ConnectionClaims } from "../../src/tools/claim-identity.ts";
import { selectTools } from "../../src/tools/profiles.ts";
import { manualClock } from "../support/manual-clock.ts";
import type { Answer, RawConnection } from "../support/mcp-connection.ts";
import { openRaw, shakeHands } from "../support/mcp-connection.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import type { Difference, Found } from "./compare-answers.ts";
import { compareFields, compareTexts, textsIn } from "./compare-answers.ts";
import type { Call, Listing, Transcript } from "./transcript.ts";

/** Sends the requests to Holdfast's profile over MCP, on a clock that waits as long as the recorder did. */
export async function replay({ profile, exchanges }: Transcript): Promise<readonly Difference[]> {
  const clock = manualClock();
  await using engine = await openSqliteEngine({ path: join(await temporaryFolder(), "store.db"), clock });
  const open = (): RawConnection => openRaw({ engine, clock, tools: selectTools({ profile }), server: { profile, claims: new ConnectionClaims() } });
  await using first = open();
  await using second = open();
  for (const connection of [first, second]) await shakeHands(connection, "handshake");
  const kept = new Map<string, unknown>();
  const sent = new Set<string>();
  const differences: Difference[] = [];
  const note = (call: string, given: Difference["arguments"], found: readonly Found[]): void =>
    void differences.push(...found.map((each) => ({ call, arguments: given, ...each })));

  const send = (connection: RawConnection, call: Call): Promise<Answer> => {
    const given = Object.fromEntries(
      Object.entries(call.arguments).map(([name, value]) => [name, typeof value === "string" && value.startsWith("$") ? kept.get(value.slice(1)) : value]),
    );
    for (const text of textsIn(given)) sent.add(text);
    return connection.request("tools/call", { name: call.tool, arguments: given });
  };

  for (const exchange of exchanges) {
    if ("waitSeconds" in exchange) clock.advance(exchange.waitSeconds * 1_000);
    else if ("method" in exchange) note(exchange.method, {}, compareFields(exchange.answer, listed(exchange, await first.request(exchange.method))));
    else if ("race" in exchange) {
      const [setUp, one, other] = exchange.race;
      await send(first, setUp);
      // Whoever wins, the answers are the same two.
      const ours = (await Promise.all([send(first, one), send(second, other)])).map(({ result }) => result.structuredContent).sort((a, b) => a.status.localeCompare(b.status));
      note(one.tool, one.arguments, [...compareFields(one.answer, ours[0]), ...compareFields(other.answer, ours[1])]);
    } else {
      const answer = await send(first, exchange);
      note(exchange.tool, exchange.arguments, compareAnswer(exchange, answer, sent));
      for (const [name, field] of Object.entries(exchange.keep ?? {})) kept.set(name, answer.result.structuredContent[field]);
    }
  }
  return differences;
}

function compareAnswer(call: Call, { error, result }: Answer, sent: ReadonlySet<string>): readonly Found[] {
  const isRefused = error !== undefined || result.isError === true;
  if (call.isError) return isRefused ? [] : [{ kind: "accepted", path: "", ours: result.structuredContent }];
  if (isRefused) return [{ kind: "refused", path: "", theirs: call.answer ?? call.text, ours: error ?? result.structuredContent.error }];
  const texts = (result.content as readonly { readonly text: string }[]).map(({ text }) => text);
  if (call.text !== undefined) return compareTexts(call.text, texts.join("\n"), sent);
  return call.answered ? [] : compareFields(call.answer, result.structuredContent);
}

function listed({ method }: Listing, { result }: Answer): unknown {
  if (method === "resources/list") return { uris: result.resources.map(({ uri }: { uri: string }) => uri).sort() };
  return Object.fromEntries(
    result.tools.map(({ name, inputSchema }: { name: string; inputSchema: { properties?: object; required?: readonly string[] } }) => [
      name,
      Object.fromEntries(Object.keys(inputSchema.properties ?? {}).map((each) => [each, inputSchema.required?.includes(each) ? "required" : "optional"])),
    ]),
  );
}
