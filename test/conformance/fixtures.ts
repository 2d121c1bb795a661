import { randomBytes } from "node:crypto";
import type { Server, ServerContext } from "@modelcontextprotocol/server";
import {
  acceptedContent,
  CLIENT_CAPABILITIES_META_KEY,
  createRequestStateCodec,
  inputRequired,
  inputResponse,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
} from "@modelcontextprotocol/server";
import * as z from "zod";
import { HoldfastError } from "../../src/kernel/errors.ts";
import type { Fixtures } from "../../src/surfaces/mcp/http/fixtures.ts";
import type { Message } from "../../src/surfaces/mcp/json-rpc.ts";
import { defineTool } from "../../src/tools/tool.ts";

/** One red pixel; one sample of silence. */
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";
const wav = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQIAAAAAAA==";

// biome-ignore lint/suspicious/noExplicitAny: the suite reads whatever a server sends
type Free = any;
interface Call {
  readonly server: Server;
  readonly args: Record<string, Free>;
  readonly context: ServerContext;
}
type Handler = (call: Call) => Promise<Free>;

const text = (said: string) => ({ content: [{ type: "text", text: said }] });
/** What was sent before is on its way before more follows. */
const pause = () => new Promise((resolve) => setImmediate(resolve));
const states = createRequestStateCodec<{ readonly round: number }>({ key: randomBytes(32) });

/** Questions to clients of the earlier era, under ids that no other question has. */
const asked = new Map<unknown, (result: Free) => void>();

function ask({ server, context }: Call, method: string, params: object): Promise<Free> {
  const id = `asked-${randomBytes(8).toString("hex")}`;
  const answer = new Promise((resolve) => asked.set(id, resolve));
  void server.transport?.send({ jsonrpc: "2.0", id, method, params: { ...params } }, { relatedRequestId: context.mcpReq.id });
  return answer;
}

const schemaOf = (properties: object, required = Object.keys(properties)): Free => ({ type: "object", properties, required });
const nameQuestion = (message: string) => inputRequired.elicit({ message, requestedSchema: schemaOf({ name: { type: "string" } }) });
const samplingQuestion = (question: string, maxTokens: number) =>
  inputRequired.createMessage({ messages: [{ role: "user", content: { type: "text", text: question } }], maxTokens });
const badState = () => new ProtocolError(ProtocolErrorCode.InvalidParams, "requestState: was not made by this server");

async function roundOf({ context }: Call): Promise<number> {
  const state = context.mcpReq.requestState();
  if (state === undefined) return 0;
  const payload = await states.verify(state as string, context).catch(() => {
    throw badState();
  });
  return payload.round;
}

const elicited = async (call: Call, requestedSchema: object): Promise<Free> => {
  const { action, content } = await ask(call, "elicitation/create", { message: "Please fill in", requestedSchema });
  return text(`Elicitation completed: action=${action}, content=${JSON.stringify(content)}`);
};

/** A tool that confirms once, with a state that must come back unchanged. */
const confirmed: Handler = async (call) => {
  const round = await roundOf(call);
  if (round > 0 && acceptedContent(call.context.mcpReq.inputResponses, "confirm") !== undefined) return text("state-ok");
  return inputRequired({
    inputRequests: { confirm: inputRequired.elicit({ message: "Please confirm", requestedSchema: schemaOf({ ok: { type: "boolean" } }) }) },
    requestState: await states.mint({ round: 1 }),
  });
};

const said = (responses: Record<string, unknown> | undefined, key: string): string | undefined => {
  const view: Free = inputResponse(responses, key);
  return view.kind === "sampling" ? view.result.content.text : undefined;
};

/** What the suite calls, beside the tools that run like the product's own. */
const handlers: Readonly<Record<string, Handler>> = {
  test_image_content: async () => ({ content: [{ type: "image", data: png, mimeType: "image/png" }] }),
  test_audio_content: async () => ({ content: [{ type: "audio", data: wav, mimeType: "audio/wav" }] }),
  test_embedded_resource: async () => ({
    content: [{ type: "resource", resource: { uri: "test://embedded-resource", mimeType: "text/plain", text: "This is an embedded resource content." } }],
  }),
  test_multiple_content_types: async () => ({
    content: [
      { type: "text", text: "Multiple content types test:" },
      { type: "image", data: png, mimeType: "image/png" },
      { type: "resource", resource: { uri: "test://mixed-content-resource", mimeType: "application/json", text: '{"test":"data","value":123}' } },
    ],
  }),
  test_tool_with_logging: async ({ context }) => {
    for (const line of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
      await context.mcpReq.notify({ method: "notifications/message", params: { level: "info", data: line } });
      await pause();
    }
    return text("Logged three lines.");
  },
  test_logging_tool: async ({ context }) => {
    await context.mcpReq.log("info", "Only for who asked for it");
    return text("Done.");
  },
  test_tool_with_progress: async ({ context }) => {
    const progressToken = context.mcpReq._meta?.progressToken;
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined) await context.mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, total: 100 } });
      await pause();
    }
    return text("Finished.");
  },
  test_sampling: async (call) => {
    const { content } = await ask(call, "sampling/createMessage", { messages: [{ role: "user", content: { type: "text", text: call.args.prompt } }], maxTokens: 100 });
    return text(`LLM response: ${content.text}`);
  },
  test_elicitation: async (call) => {
    const requestedSchema = schemaOf({ username: { type: "string", description: "User's response" }, email: { type: "string", description: "User's email address" } });
    const answer = await ask(call, "elicitation/create", { message: call.args.message, requestedSchema });
    return text(`User response: ${JSON.stringify(answer)}`);
  },
  test_elicitation_sep1034_defaults: (call) =>
    elicited(
      call,
      schemaOf(
        {
          name: { type: "string", default: "John Doe" },
          age: { type: "integer", default: 30 },
          score: { type: "number", default: 95.5 },
          status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
          verified: { type: "boolean", default: true },
        },
        [],
      ),
    ),
  test_elicitation_sep1330_enums: (call) => {
    const options = ["option1", "option2", "option3"];
    const titled = (word: string) => [1, 2, 3].map((n) => ({ const: `value${n}`, title: `${["First", "Second", "Third"][n - 1]} ${word}` }));
    return elicited(
      call,
      schemaOf(
        {
          untitledSingle: { type: "string", enum: options },
          titledSingle: { type: "string", oneOf: titled("Option") },
          legacyEnum: { type: "string", enum: ["opt1", "opt2", "opt3"], enumNames: ["Option One", "Option Two", "Option Three"] },
          untitledMulti: { type: "array", items: { type: "string", enum: options } },
          titledMulti: { type: "array", items: { anyOf: titled("Choice") } },
        },
        [],
      ),
    );
  },
  test_missing_capability: async ({ context }) => {
    const declared: Free = (context.mcpReq.envelope as Free)?.[CLIENT_CAPABILITIES_META_KEY] ?? {};
    if (declared.sampling === undefined) throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { sampling: {} } });
    return text("The client can sample.");
  },
  test_streaming_elicitation: async ({ context }) => {
    const name = acceptedContent(context.mcpReq.inputResponses, "user_name");
    return name === undefined ? inputRequired({ inputRequests: { user_name: nameQuestion("What is your name?") } }) : text("Thanks.");
  },
  test_trigger_tool_change: async () => text("The tools stay what they are."),
  test_input_required_result_elicitation: async ({ context }) => {
    const answer = acceptedContent(context.mcpReq.inputResponses, "user_name", z.object({ name: z.string() }));
    return answer === undefined ? inputRequired({ inputRequests: { user_name: nameQuestion("What is your name?") } }) : text(`Hello, ${answer.name}!`);
  },
  test_input_required_result_sampling: async ({ context }) => {
    const answer = said(context.mcpReq.inputResponses, "capital_question");
    return answer === undefined ? inputRequired({ inputRequests: { capital_question: samplingQuestion("What is the capital of France?", 100) } }) : text(answer);
  },
  test_input_required_result_list_roots: async ({ context }) => {
    const view = inputResponse(context.mcpReq.inputResponses, "client_roots");
    return view.kind === "roots" ? text(JSON.stringify(view.roots)) : inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } });
  },
  test_input_required_result_request_state: confirmed,
  test_input_required_result_tampered_state: confirmed,
  test_input_required_result_multiple_inputs: async (call) => {
    const { inputResponses } = call.context.mcpReq;
    const complete = ["user_name", "greeting", "client_roots"].every((key) => inputResponse(inputResponses, key).kind !== "missing");
    if ((await roundOf(call)) > 0 && complete) return text("All three came.");
    return inputRequired({
      inputRequests: {
        user_name: nameQuestion("What is your name?"),
        greeting: samplingQuestion("Generate a greeting", 50),
        client_roots: inputRequired.listRoots(),
      },
      requestState: await states.mint({ round: 1 }),
    });
  },
  test_input_required_result_multi_round: async (call) => {
    const round = await roundOf(call);
    if (round === 2) return text("Both steps are done.");
    const question =
      round === 0
        ? { step1: nameQuestion("Step 1: What is your name?") }
        : { step2: inputRequired.elicit({ message: "Step 2: What is your favorite color?", requestedSchema: schemaOf({ color: { type: "string" } }) }) };
    return inputRequired({ inputRequests: question as Free, requestState: await states.mint({ round: round + 1 }) });
  },
  test_input_required_result_capabilities: async ({ context }) => {
    const declared: Free = (context.mcpReq.envelope as Free)?.[CLIENT_CAPABILITIES_META_KEY] ?? {};
    return inputRequired({
      inputRequests: {
        ...(declared.sampling === undefined ? {} : { greeting: samplingQuestion("Generate a greeting", 50) }),
        ...(declared.elicitation === undefined ? {} : { user_name: nameQuestion("What is your name?") }),
      },
    });
  },
};

const argumentsOf: Readonly<Record<string, object>> = { test_sampling: { prompt: { type: "string" } }, test_elicitation: { message: { type: "string" } } };

const resources: readonly Free[] = [
  { uri: "test://static-text", name: "static-text", description: "A static text.", mimeType: "text/plain" },
  { uri: "test://static-binary", name: "static-binary", description: "A static image.", mimeType: "image/png" },
  { uri: "test://watched-resource", name: "watched-resource", description: "Something to subscribe to.", mimeType: "text/plain" },
];

function readResource(uri: string): Free {
  const [, id] = /^test:\/\/template\/([^/]+)\/data$/.exec(uri) ?? [];
  if (id !== undefined) return { uri, mimeType: "application/json", text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) };
  if (uri === "test://static-binary") return { uri, mimeType: "image/png", blob: png };
  return { uri, mimeType: "text/plain", text: "This is the content of the static text resource." };
}

const knownUri = (uri: unknown): boolean => typeof uri === "string" && (resources.some((resource) => resource.uri === uri) || /^test:\/\/template\/[^/]+\/data$/.test(uri));

const user = (content: object) => ({ role: "user", content });
const prompts: Readonly<Record<string, { readonly arguments: readonly string[]; get(args: Record<string, string>, context: ServerContext): Free }>> = {
  test_simple_prompt: { arguments: [], get: () => ({ messages: [user({ type: "text", text: "This is a simple prompt for testing." })] }) },
  test_prompt_with_arguments: {
    arguments: ["arg1", "arg2"],
    get: ({ arg1, arg2 }) => ({ messages: [user({ type: "text", text: `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'` })] }),
  },
  test_prompt_with_embedded_resource: {
    arguments: ["resourceUri"],
    get: ({ resourceUri }) => ({
      messages: [
        user({ type: "resource", resource: { uri: resourceUri, mimeType: "text/plain", text: "Embedded resource content for testing." } }),
        user({ type: "text", text: "Please process the embedded resource above." }),
      ],
    }),
  },
  test_prompt_with_image: {
    arguments: [],
    get: () => ({ messages: [user({ type: "image", data: png, mimeType: "image/png" }), user({ type: "text", text: "Please analyze the image above." })] }),
  },
  test_input_required_result_prompt: {
    arguments: [],
    get: (_, { mcpReq }) => {
      const answer: Free = acceptedContent(mcpReq.inputResponses, "user_context");
      if (answer !== undefined) return { messages: [user({ type: "text", text: `In the context of ${answer.context}` })] };
      const question = inputRequired.elicit({ message: "What context should the prompt use?", requestedSchema: schemaOf({ context: { type: "string" } }) });
      return inputRequired({ inputRequests: { user_context: question } });
    },
  },
};

type Raw = (request: Free, context: ServerContext) => Promise<Free>;

/** Ours for what is ours, the product's for the rest. The SDK has no public way to stand before a handler. */
function before(server: Server, method: Free, isOurs: (params: Free) => boolean, ours: (params: Free, context: ServerContext) => Promise<Free>): void {
  const registered = (server as unknown as { readonly _requestHandlers: Map<string, Raw> })._requestHandlers;
  const products = registered.get(method) as Raw;
  server.setRequestHandler(method, (request: Free, context: Free) => ours(request.params, context));
  const mounted = registered.get(method) as Raw;
  registered.set(method, (request, context) => (isOurs(request.params) ? mounted : products)(request, context));
}

/** The product's list with ours behind it. */
function behind(server: Server, method: string, member: string, more: readonly Free[]): void {
  const registered = (server as unknown as { readonly _requestHandlers: Map<string, Raw> })._requestHandlers;
  const products = registered.get(method) as Raw;
  registered.set(method, async (request, context) => {
    const page = await products(request, context);
    return { ...page, [member]: [...page[member], ...more] };
  });
}

/** Run by the product's own runTool, on the fast path or not. */
const ownTools = [
  defineTool({
    name: "test_simple_text",
    title: "Simple text",
    description: "Answers with one text.",
    toolset: "state",
    effect: "read",
    input: z.strictObject({}),
    output: z.strictObject({ said: z.string() }),
    positional: [],
    render: ({ said: words }) => [words as string],
    handle: async () => ({ said: "This is a simple text response for testing." }),
  }),
  defineTool({
    name: "test_error_handling",
    title: "An error",
    description: "Always fails.",
    toolset: "state",
    effect: "read",
    input: z.strictObject({}),
    output: z.strictObject({}),
    positional: [],
    handle: async () => {
      throw new HoldfastError("not_found", "This tool intentionally returns an error for testing");
    },
  }),
];

export const conformanceFixtures: Fixtures = {
  capabilities: { logging: {} },
  tools: ownTools,
  elsewhere: Object.keys(handlers).map((name) => ({
    name,
    description: `Fixture ${name}.`,
    inputSchema: schemaOf(argumentsOf[name] ?? {}),
  })),
  extend(server) {
    before(
      server,
      "tools/call",
      ({ name }) => Object.hasOwn(handlers, name),
      ({ name, arguments: args = {} }, context) => (handlers[name] as Handler)({ server, args, context }),
    );
    behind(server, "resources/list", "resources", resources);
    behind(server, "resources/templates/list", "resourceTemplates", [{ uriTemplate: "test://template/{id}/data", name: "template", mimeType: "application/json" }]);
    before(
      server,
      "resources/read",
      ({ uri }) => knownUri(uri),
      async ({ uri }) => ({ contents: [readResource(uri)] }),
    );
    for (const method of ["resources/subscribe", "resources/unsubscribe"])
      before(
        server,
        method,
        ({ uri }) => knownUri(uri),
        async () => ({}),
      );
    behind(
      server,
      "prompts/list",
      "prompts",
      Object.entries(prompts).map(([name, { arguments: names }]) => ({
        name,
        description: `Fixture ${name}.`,
        arguments: names.map((argument) => ({ name: argument, description: argument, required: true })),
      })),
    );
    before(
      server,
      "prompts/get",
      ({ name }) => Object.hasOwn(prompts, name),
      async ({ name, arguments: args = {} }, context) => prompts[name]?.get(args, context),
    );
    before(
      server,
      "completion/complete",
      ({ ref }) => Object.hasOwn(prompts, ref?.name),
      async () => ({ completion: { values: [], hasMore: false } }),
    );
  },
  answered(reply: Message) {
    if ("method" in reply || reply.id === undefined) return;
    asked.get(reply.id)?.("result" in reply ? reply.result : {});
    asked.delete(reply.id);
  },
};
