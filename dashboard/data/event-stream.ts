export interface StreamEvent {
  readonly id?: string;
  readonly event: string;
  readonly data: string;
}

/** The events of a server-sent stream. A comment is returned as an event without a name, because it shows that the connection is alive. */
export async function* readServerEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent> {
  let rest = "";
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      rest += value;
      const blocks = rest.replaceAll("\r\n", "\n").split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) yield parseBlock(block);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function parseBlock(block: string): StreamEvent {
  let id: string | undefined;
  let event = "";
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue;
    const value = line.slice(colon + (line[colon + 1] === " " ? 2 : 1));
    const field = line.slice(0, colon);
    if (field === "id") id = value;
    else if (field === "event") event = value;
    else if (field === "data") data.push(value);
  }
  return { id, event: event === "" && data.length > 0 ? "message" : event, data: data.join("\n") };
}
