/** The client's description of the event. Everything else it sends, including the transcript's path, is ignored. */
export interface HookInput {
  /** The folder the agent works in. */
  readonly folder?: string;
  /** Why context is being compacted. */
  readonly trigger?: "manual" | "auto";
  /** The client's id for the conversation, which stays the same across a compaction. */
  readonly session?: string;
  /** The session starts because its context was compacted. */
  readonly isCompacted?: boolean;
  /** The client's summary of the compacted context. */
  readonly summary?: string;
}

const inputBytesMax = 1_048_576;
const sessionBytesMax = 128;

/** Never throws: if the description cannot be used, the process's own folder is used. */
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

/** In the form the journal accepts. */
const isSessionId = (session: unknown): session is string =>
  typeof session === "string" && session !== "" && Buffer.byteLength(session) <= sessionBytesMax && session.isWellFormed() && !session.includes("\0");
