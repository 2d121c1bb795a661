import type { WatchBeginning, WatchInput } from "../../domain/state/watch-state.ts";
import { beginWatch, watchCommits } from "../../domain/state/watch-state.ts";
import { isHoldfastError } from "../../kernel/errors.ts";
import { meteredStore } from "../../store/metered-store.ts";
import type { ApiRequest, ServerSentEvent } from "../dashboard/api-route.ts";

/** Sends `watching` with the starting revision, then one `change` per commit; its event id resumes the watch. Invalid requests are rejected before the stream begins. */
export async function watchEvents({ base, gate, signal }: ApiRequest, what: WatchInput): Promise<AsyncIterable<ServerSentEvent>> {
  return stream({ base, gate, signal }, await beginWatch(base, what));
}

async function* stream({ base, gate, signal }: Pick<ApiRequest, "base" | "gate" | "signal">, beginning: WatchBeginning): AsyncGenerator<ServerSentEvent> {
  yield { id: String(beginning.after), event: "watching", data: { revision: beginning.after } };
  try {
    for await (const { revision, changes } of watchCommits({ store: meteredStore(base.store, gate) }, beginning, signal)) {
      yield { id: String(revision), event: "change", data: changes };
      // The client has received the event.
      gate.forget();
    }
  } catch (error) {
    if (!isHoldfastError(error)) throw error;
    // If the stream just broke off, the client would reopen it and get the same error again.
    yield { event: "error", data: { code: error.code, message: error.message, hint: error.hint, details: error.details } };
  }
}
