/** An answer is longer than its reader takes. */
export class TooLong extends Error {}

export interface ServerEvent {
  readonly id?: string;
  readonly event?: string;
  readonly data: string;
}

/** The memory that a line of an event takes in addition to its text. */
const lineCost = 64;

/**
 * Server-sent events, one at a time: the next text is read when the caller asks for an event, so that a client that does not read makes the server wait.
 * Ends when the texts do. Rejects with TooLong when one event has more than `charactersMax`.
 */
export async function* parseServerEvents(texts: AsyncIterable<string>, charactersMax: number): AsyncGenerator<ServerEvent, void, void> {
  const lines = new EventLines(charactersMax);
  let id: string | undefined;
  let event: string | undefined;
  let data: string[] = [];
  let length = 0;
  for await (const text of texts) {
    for (const line of lines.push(text)) {
      if (line === "") {
        if (id !== undefined || data.length > 0) yield { id, event, data: data.join("\n") };
        id = undefined;
        event = undefined;
        data = [];
        length = 0;
        continue;
      }
      const [, name, value = ""] = /^([^:]*)(?::\x20?(.*))?$/s.exec(line) ?? [];
      if (name === "id" && !value.includes("\0")) id = value;
      if (name === "event") event = value;
      if (name !== "data") continue;
      // A line takes room even when it is empty.
      length += value.length + lineCost;
      if (length > charactersMax) throw new TooLong();
      data.push(value);
    }
  }
}

/** Splits text into lines, which end in LF, CR or both, wherever the text was cut into pieces. Each piece is scanned once. */
class EventLines {
  readonly #charactersMax: number;
  #rest = "";
  /** The last piece ended in CR: an LF at the start of the next one belongs to the same line break. */
  #endedInCr = false;

  constructor(charactersMax: number) {
    this.#charactersMax = charactersMax;
  }

  push(text: string): string[] {
    const lines = (this.#endedInCr && text.startsWith("\n") ? text.slice(1) : text).split(/\r\n|\n|\r/);
    this.#endedInCr = text.endsWith("\r");
    lines[0] = this.#rest + lines[0];
    this.#rest = lines.pop() as string;
    if (this.#rest.length > this.#charactersMax) throw new TooLong();
    return lines;
  }
}
