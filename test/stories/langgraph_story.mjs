// A LangGraph agent without a model: a graph whose tool node is made of the server's tools, and messages as a model would write them.
// Arguments: where LangChain's adapter is, the server's URL and a token. Prints one JSON object of facts.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [adapter, url, token] = process.argv.slice(2);
const { resolve } = createRequire(adapter);
const load = (name) => import(pathToFileURL(resolve(name)).href);

const { MultiServerMCPClient } = await load("@langchain/mcp-adapters");
const { AIMessage } = await load("@langchain/core/messages");
const { MessagesAnnotation, StateGraph } = await load("@langchain/langgraph");
const { ToolNode } = await load("@langchain/langgraph/prebuilt");

const client = new MultiServerMCPClient({ mcpServers: { holdfast: { transport: "http", url, headers: { Authorization: `Bearer ${token}` } } } });
const tools = await client.getTools();
const graph = new StateGraph(MessagesAnnotation).addNode("tools", new ToolNode(tools)).addEdge("__start__", "tools").compile();

/** What the tools answer to one message of a model. */
async function act(...calls) {
  const message = new AIMessage({ content: "", tool_calls: calls.map(([name, args], i) => ({ id: `call-${i}`, name, args, type: "tool_call" })) });
  const { messages } = await graph.invoke({ messages: [message] });
  return messages.slice(1).map(({ content, status }) => ({ status, text: typeof content === "string" ? content : content.map(({ text }) => text).join("") }));
}

const facts = { tools: tools.map(({ name }) => name) };
facts.together = await act(["state_set", { key: "graph/a", value: { n: 1 } }], ["state_set", { key: "graph/b", value: { n: 2 } }]);
facts.read = await act(["state_get", { key: "graph/a" }]);
facts.created = await act(["workflow_create", { name: "graph", run_id: "graph-run" }]);
facts.claimed = await act(["workflow_claim", { run_id: "graph-run", agent_id: "graph" }]);
facts.step = await act(["workflow_checkpoint", { run_id: "graph-run", step: 1, output: "done", agent_id: "graph" }]);
facts.wrong = await act(["workflow_status", { run_id: "no-such-run" }]);
await client.close();
process.stdout.write(`${JSON.stringify(facts)}\n`);
