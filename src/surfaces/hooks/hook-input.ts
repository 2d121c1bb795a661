/** What a client says about the event; everything else it sends, the path of the transcript included, is none of our business. */
export interface HookInput {
  /** The folder the agent works in. */
  readonly folder?: string;
  /** Why context is being compacted. */
  readonly trigger?: "manual" | "auto";
  /** The client's name for the conversation: it stays the same over a compaction. */
  readonly session?: string;
  /** The session starts because its context was compacted. */
  readonly isCompacted?: boolean;
  /** What the client made of the context when it compacted it. */
  readonly summary?: string;
}

const inputBytesMax = 1_048_576;
const sessionBytesMax = 128;

/** Never throws: without a usable description of the event, the process's own folder has to do. */
export async function readHookInput(stdin: AsyncIterable<Uint8Array | string>): Promise<HookInput> {
  try {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of stdin) {
      chunks.push(Buffer.from(chunk as Uint8Array));
      bytes += chunk.length;
      if (bytes > inputBytesMax) return {};
    }
    const { cwd, trigger, session_id: session, source, compact_summary: summary } = JSON.parse(Buffer.concat(chunks).toString("utf8")) as Record<string, unknown>;
    return {
      ...(isSessionId(session) ? { session } : {}),
      ...(source === "compact" ? { isCompacted: true } : {}),
      ...(typeof summary === "string" && summary.trim() !== "" ? { summary: summary.trim().toWellFormed().replaceAll("\0", "") } : {}),
      ...(typeof cwd === "string" && cwd !== "" && !cwd.includes("\0") ? { folder: cwd } : {}),
      ...(trigger === "manual" || trigger === "auto" ? { trigger } : {}),
    };
  } catch {
    return {};
  }
}

/** As the journal takes it. */
const isSessionId = (session: unknown): session is string =>
  typeof session === "string" && session !== "" && Buffer.byteLength(session) <= sessionBytesMax && session.isWellFormed() && !session.includes("\0");
