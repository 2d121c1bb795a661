import type { StateChange } from "../../domain/state/watch-state.ts";
import type { Clock } from "../../kernel/clock.ts";
import { HoldfastError, isHoldfastError } from "../../kernel/errors.ts";
import { linkedAbort } from "../../kernel/linked-abort.ts";
import { RetryDelay } from "../../kernel/retry-delay.ts";
import { parseServerEvents } from "../../kernel/server-events.ts";
import { bodyTexts, readAnswerText } from "./open-request.ts";
import type { RemoteCalls } from "./remote-calls.ts";
import { errorIn } from "./remote-calls.ts";

/** Limit for one event: the changes of the largest possible commit, with their names and times. */
const eventCharactersMax = 33_554_432;
/** The server sends a heartbeat every 15 seconds. A connection that is silent for this long is dead. */
const quietMsMax = 45_000;

interface WatchEvent {
  readonly revision: number;
  readonly changes: readonly StateChange[];
}

/** `state.watch` over a stream of events. A broken stream is reopened after the last complete commit, for as long as the caller watches. */
export async function* watchRemotely(
  calls: RemoteCalls,
  clock: Pick<Clock, "nowMs" | "sleep">,
  given: Readonly<Record<string, unknown>>,
  signal: AbortSignal | undefined,
): AsyncGenerator<StateChange> {
  const left = linkedAbort(calls.closed, signal);
  const ends = left.signal;
  const delay = new RetryDelay({ clock, forMs: Number.POSITIVE_INFINITY, signal: ends, endsAtMs: () => Number.POSITIVE_INFINITY });
  let { after } = given;
  try {
    while (!ends.aborted) {
      try {
        for await (const { revision, changes } of readStream(calls, { ...given, after }, ends)) {
          delay.reset();
          after = revision;
          for (const change of changes) {
            if (ends.aborted) return;
            yield change;
          }
        }
      } catch (error) {
        if (isHoldfastError(error) && error.code !== "unavailable" && error.code !== "rate_limited") throw error;
      }
      await delay.wait();
    }
  } finally {
    left.abort();
    left.unlink();
  }
}

/** Ends when the server ends the stream; throws if the connection breaks or the server refuses the watch. */
async function* readStream(calls: RemoteCalls, given: Readonly<Record<string, unknown>>, ends: AbortSignal): AsyncGenerator<WatchEvent> {
  const quiet = linkedAbort(ends);
  let timer = setTimeout(() => quiet.abort(), quietMsMax);
  const heard = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => quiet.abort(), quietMsMax);
  };
  try {
    const response = await calls.open(calls.pathOf("state.watch"), JSON.stringify(given), quiet.signal);
    if (!response.ok) throw await refusalOf(response);
    for await (const { id, event, data } of parseServerEvents(heardTexts(bodyTexts(response), heard), eventCharactersMax)) {
      if (event === "error") throw errorIn({ error: JSON.parse(data) }) ?? new Error("The stream ended with an error.");
      yield { revision: Number(id), changes: event === "change" ? (JSON.parse(data) as readonly StateChange[]) : [] };
    }
  } finally {
    clearTimeout(timer);
    quiet.unlink();
  }
}

async function* heardTexts(texts: AsyncIterable<string>, heard: () => void): AsyncGenerator<string> {
  for await (const text of texts) {
    heard();
    yield text;
  }
}

const refusalBytesMax = 65_536;

async function refusalOf(response: Response): Promise<HoldfastError> {
  const text = await readAnswerText(response, refusalBytesMax);
  const unavailable = new HoldfastError("unavailable", `The watch was refused (HTTP ${response.status}).`);
  try {
    return errorIn(JSON.parse(text)) ?? unavailable;
  } catch {
    return unavailable;
  }
}
