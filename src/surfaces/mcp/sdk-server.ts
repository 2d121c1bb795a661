import type { Server } from "@modelcontextprotocol/server";
import { ProtocolError, ProtocolErrorCode, ResourceNotFoundError } from "@modelcontextprotocol/server";
import type { Log } from "../../kernel/log.ts";
import type { Greeting } from "./greeting.ts";
import { staticCacheHint } from "./greeting.ts";
import type { CallOrigin, TracedRequest, TransportCall } from "./mcp-spans.ts";
import { promptsFor } from "./prompts.ts";
import { uriCharactersMax } from "./resource-uris.ts";
import type { Resources } from "./resources.ts";
import { rpcFailureOf } from "./rpc-failure.ts";
import { TerseServer } from "./terse-server.ts";
import type { ToolCalls } from "./tool-calls.ts";
import { answerOf, requestKeyMember, unknownToolMessage } from "./tool-calls.ts";

export interface SdkParts {
  readonly greeting: Greeting;
  readonly calls: ToolCalls;
  readonly resources: Resources;
  /** For the handshake era. */
  readonly subscriptions: { subscribe(uri: string): Promise<unknown>; unsubscribe(uri: string): Promise<unknown> };
  readonly log: Log;
  /** The origin of the request, if each request has its own server. */
  readonly origin?: CallOrigin;
  /** The connection's label, if several connections share the calls. */
  readonly connection?: string;
  /** Runs the work of one request, and resolves when there is room to build its response. */
  answering<Result>(signal: AbortSignal, work: (call: TransportCall) => Promise<Result>): Promise<Result>;
}

/**
 * The SDK's low-level server with one handler per method. The high-level one would register tools one by one
 * and report invalid input in its own words instead of ours.
 */
export function createSdkServer({ greeting, calls, resources, subscriptions, log, connection, origin, answering }: SdkParts): Server {
  const { serverInfo, capabilities, instructions } = greeting;
  const prompts = promptsFor(calls.tools);
  const server = new TerseServer(serverInfo, {
    capabilities,
    instructions,
    cacheHints: {
      "tools/list": staticCacheHint,
      "prompts/list": staticCacheHint,
      "resources/templates/list": staticCacheHint,
      "server/discover": staticCacheHint,
    },
  });
  server.onerror = (error) => log("warn", "protocol_problem", { problem: error.message.slice(0, 300) });

  server.setRequestHandler("tools/list", ({ params }) => {
    requireOnePage(params);
    return { tools: JSON.parse(calls.listJson) };
  });
  server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
    if (!calls.has(params.name)) throw invalidParams(unknownToolMessage(params.name));
    const request = calls.spans && { method: "tools/call", id: mcpReq.id, meta: mcpReq._meta, origin };
    const requestKey = mcpReq._meta?.[requestKeyMember];
    const outcome = await answering(mcpReq.signal, (call) => calls.run(params.name, params.arguments, requestKey, call, connection, request));
    const { structured, texts, isError } = answerOf(outcome);
    return { content: texts.map((text) => ({ type: "text" as const, text })), structuredContent: structured, ...(isError ? { isError } : {}) };
  });

  server.setRequestHandler("resources/templates/list", ({ params }) => {
    requireOnePage(params);
    return { resourceTemplates: resources.templates };
  });
  server.setRequestHandler("resources/list", ({ params }, { mcpReq }) => named(mcpReq, async () => ({ ...(await resources.list(params?.cursor)) })));
  server.setRequestHandler("resources/read", ({ params: { uri } }, { mcpReq }) =>
    named({ ...mcpReq, uri }, async () => {
      const found = await answering(mcpReq.signal, (call) => resources.read(uri, call));
      if (found === undefined) throw notFound(uri);
      return { contents: [{ uri, ...found }] };
    }),
  );
  server.setRequestHandler("resources/subscribe", ({ params: { uri } }, { mcpReq }) =>
    named({ ...mcpReq, uri }, async () => {
      if (resources.target(uri) === undefined) throw notFound(uri);
      await subscriptions.subscribe(uri);
      return {};
    }),
  );
  server.setRequestHandler("resources/unsubscribe", ({ params: { uri } }, { mcpReq }) =>
    named({ ...mcpReq, uri }, async () => {
      await subscriptions.unsubscribe(uri);
      return {};
    }),
  );

  server.setRequestHandler("completion/complete", ({ params: { ref, argument } }, { mcpReq }) =>
    named(mcpReq, async () => {
      const known = ref.type === "ref/prompt" ? prompts.some(({ name }) => name === ref.name) : resources.templates.some(({ uriTemplate }) => uriTemplate === ref.uri);
      if (!known) throw invalidParams(`ref: is not a ${ref.type === "ref/prompt" ? "prompt" : "resource template"} of this server`);
      const { values, hasMore } = await resources.complete(argument.name, argument.value, ref.type === "ref/prompt" ? undefined : ref.uri);
      return { completion: { values: [...values], hasMore } };
    }),
  );

  if (capabilities.prompts !== undefined) {
    server.setRequestHandler("prompts/list", ({ params }) => {
      requireOnePage(params);
      const listed = prompts.map(({ name, title, description, arguments: known }) => ({
        name,
        title,
        description,
        arguments: known.map((argument) => ({ ...argument, required: false })),
      }));
      return { prompts: listed };
    });
    server.setRequestHandler("prompts/get", ({ params: { name, arguments: args = {} } }, { mcpReq }) =>
      named({ ...mcpReq, prompt: prompts.some((known) => known.name === name) ? name : undefined }, async () => {
        const prompt = prompts.find((candidate) => candidate.name === name);
        if (prompt === undefined) throw invalidParams(`name: must be one of ${prompts.map((candidate) => candidate.name).join(", ")}`);
        const notes = prompt.namesNotes ? await answering(mcpReq.signal, (call) => resources.notesWithoutQuestions(call)) : undefined;
        return { description: prompt.description, messages: [{ role: "user", content: { type: "text", text: prompt.text(args, notes) } }] };
      }),
    );
  }
  return server;

  async function named<Result>({ method, id, _meta: meta, uri, prompt }: Named, work: () => Promise<Result>): Promise<Result> {
    const span = calls.spans?.open({ method, id, meta, uri, prompt, session: connection, origin });
    try {
      return await work();
    } catch (error) {
      const failure = error instanceof ProtocolError ? error : protocolError(rpcFailureOf(error, log));
      span?.fail(String(failure.code));
      throw failure;
    } finally {
      span?.end();
    }
  }
}

type Named = Pick<TracedRequest, "method" | "id" | "uri" | "prompt"> & { readonly _meta?: unknown };

const protocolError = ({ code, message, data }: ReturnType<typeof rpcFailureOf>): ProtocolError => new ProtocolError(code, message, data);
const invalidParams = (message: string): ProtocolError => new ProtocolError(ProtocolErrorCode.InvalidParams, message);

/** These lists fit on one page, so no cursor was ever handed out. */
function requireOnePage(params: { readonly cursor?: string } | undefined): void {
  if (params?.cursor !== undefined) throw invalidParams("cursor: the list has one page");
}

/** The SDK's error would repeat the URI twice, so an overlong URI gets a short error. */
const notFound = (uri: string): ProtocolError =>
  uri.length > uriCharactersMax ? invalidParams(`uri: must be at most ${uriCharactersMax} characters`) : new ResourceNotFoundError(uri);
