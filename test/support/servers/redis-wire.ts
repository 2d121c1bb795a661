import { once } from "node:events";
import { connect } from "node:net";

export type RedisReply = string | number | null | readonly RedisReply[];

/** One command on a connection of its own, without a driver: the tests of servers must not lean on what they help to test. An error reply is thrown. */
export async function redisCommand(
  port: number,
  command: readonly (string | number)[],
  { timeoutMs = 300_000, password = "" }: { readonly timeoutMs?: number; readonly password?: string } = {},
): Promise<RedisReply> {
  const socket = connect({ port, host: "127.0.0.1" });
  const late = setTimeout(() => socket.destroy(new Error(`Redis on port ${port} did not answer ${command[0]} in ${timeoutMs} ms.`)), timeoutMs);
  try {
    await once(socket, "connect");
    const commands = [...(password === "" ? [] : [["AUTH", password]]), command];
    socket.write(commands.map(encode).join(""));
    let answer = Buffer.alloc(0);
    for await (const chunk of socket) {
      answer = Buffer.concat([answer, chunk as Buffer]);
      const read = readReplies(answer, 0, commands.length);
      if (read !== undefined) return read.reply.at(-1) ?? null;
    }
    throw new Error(`Redis on port ${port} closed the connection without an answer to ${command[0]}.`);
  } finally {
    clearTimeout(late);
    socket.on("error", () => {}).destroy();
  }
}

const encode = (command: readonly (string | number)[]): string => `*${command.length}\r\n${command.map((word) => `$${Buffer.byteLength(String(word))}\r\n${word}\r\n`).join("")}`;

/** The reply that begins at `from`, and where the next one does; undefined while it is not complete. */
function readReply(bytes: Buffer, from: number): { readonly reply: RedisReply; readonly next: number } | undefined {
  const lineEnd = bytes.indexOf("\r\n", from);
  if (lineEnd < 0) return undefined;
  const line = bytes.toString("utf8", from + 1, lineEnd);
  const next = lineEnd + 2;
  switch (String.fromCharCode(bytes[from] ?? 0)) {
    case "+":
      return { reply: line, next };
    case "-":
      throw new Error(line);
    case ":":
      return { reply: Number(line), next };
    case "$": {
      if (line === "-1") return { reply: null, next };
      const end = next + Number(line);
      return bytes.length < end + 2 ? undefined : { reply: bytes.toString("utf8", next, end), next: end + 2 };
    }
    case "*":
      return line === "-1" ? { reply: null, next } : readReplies(bytes, next, Number(line));
    default:
      throw new Error(`Not an answer of Redis: ${JSON.stringify(bytes.toString("latin1", from, from + 40))}`);
  }
}

function readReplies(bytes: Buffer, from: number, count: number): { readonly reply: readonly RedisReply[]; readonly next: number } | undefined {
  const replies: RedisReply[] = [];
  let next = from;
  for (let i = 0; i < count; i += 1) {
    const read = readReply(bytes, next);
    if (read === undefined) return undefined;
    replies.push(read.reply);
    next = read.next;
  }
  return { reply: replies, next };
}
