/** What a client says about the event; everything else it sends, the path of the transcript included, is none of our business. */
export interface HookInput {
  /** The folder the agent works in. */
  readonly folder?: string;
  /** Why context is being compacted. */
  readonly trigger?: "manual" | "auto";
}

const inputBytesMax = 1_048_576;

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
    const { cwd, trigger } = JSON.parse(Buffer.concat(chunks).toString("utf8")) as Record<string, unknown>;
    return {
      ...(typeof cwd === "string" && cwd !== "" && !cwd.includes("\0") ? { folder: cwd } : {}),
      ...(trigger === "manual" || trigger === "auto" ? { trigger } : {}),
    };
  } catch {
    return {};
  }
}
