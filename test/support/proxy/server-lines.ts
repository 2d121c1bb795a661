import { spawn } from "node:child_process";
import type { Answer } from "../mcp-connection.ts";
import { openLines } from "../mcp-connection.ts";
import { forgetGuarded, guardProcess } from "../servers/orphan-guard.ts";

/** A server as a process of its own, spoken to in lines. The client can do everything that servers ask for. */
export async function openServerLines(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "ignore"], env: { PATH: process.env.PATH, ...env } });
  const lines = openLines();
  lines.stdin.pipe(child.stdin);
  child.stdout.pipe(lines.stdout);
  // A killed server breaks the pipe to it.
  child.stdin.on("error", () => {});
  const pid = child.pid as number;
  guardProcess(pid);
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve())).finally(() => forgetGuarded(pid));
  const answers: Readonly<Record<string, unknown>> = {
    "roots/list": { roots: [] },
    "sampling/createMessage": { role: "assistant", model: "m", content: { type: "text", text: "sampled" } },
    "elicitation/create": { action: "decline" },
  };
  const serve = (): void => {
    void lines
      .next(({ method = "", id }) => id !== undefined && method in answers)
      .then(({ id, method = "" }) => {
        lines.send({ jsonrpc: "2.0", id, result: answers[method] });
        serve();
      });
  };
  serve();
  const capabilities = { sampling: {}, elicitation: {}, roots: { listChanged: true } };
  lines.send({ jsonrpc: "2.0", id: "hello", method: "initialize", params: { protocolVersion: "2025-11-25", capabilities, clientInfo: { name: "story", version: "1" } } });
  await lines.answer("hello");
  lines.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  const ask = async (id: string, method: string, params?: Readonly<Record<string, unknown>>): Promise<Answer> => {
    lines.send({ jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) });
    return lines.answer(id);
  };
  return {
    ...lines,
    ask,
    ended,
    kill: () => child.kill("SIGKILL"),
    call: async (id: string, name: string, args: Readonly<Record<string, unknown>> = {}, meta?: Readonly<Record<string, unknown>>): Promise<string> => {
      const { result, error } = await ask(id, "tools/call", { name, arguments: args, ...(meta === undefined ? {} : { _meta: meta }) });
      return result?.content?.map(({ text = "" }: { text?: string }) => text).join("\n") ?? JSON.stringify(error);
    },
    /** The line as it came. */
    lineOf: (id: string): string | undefined => lines.lines.find((line) => JSON.parse(line).id === id && !("method" in JSON.parse(line))),
    async [Symbol.asyncDispose]() {
      lines.stdin.end();
      await ended;
    },
  };
}
