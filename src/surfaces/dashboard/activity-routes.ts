import type { Activity } from "../../domain/history/activity.ts";
import { readActivity } from "../../domain/history/activity.ts";
import type { Position } from "../../domain/history/follow-activity.ts";
import { followActivity } from "../../domain/history/follow-activity.ts";
import { historyKinds } from "../../domain/keyspace.ts";
import { invalidInput } from "../../kernel/errors.ts";
import { limits } from "../../store/limits.ts";
import type { ActivityAnswer, ActivityItem, CompactedAnswer, Hello, Kind } from "./api.ts";
import type { ApiRequest, ApiRoute, ServerSentEvent } from "./api-route.ts";
import { oneOf, pageSize, readQuery, text, wholeNumber } from "./read-query.ts";

export const toActivityItem = (activity: Activity, times = 1): ActivityItem => ({
  revision: activity.revision,
  atMs: activity.atMs,
  kind: (historyKinds as readonly string[]).includes(activity.kind) ? (activity.kind as Kind) : "other",
  operation: activity.operation,
  // A session can be read by anyone who knows its id, so its id is not shown.
  subject: activity.kind === "session" && activity.subject === "" ? "a session" : activity.subject,
  ...(activity.title === undefined || activity.title === "" ? {} : { title: activity.title }),
  writer: activity.writer,
  ...(activity.agent === undefined ? {} : { agent: activity.agent }),
  ...(activity.written === undefined ? {} : { written: activity.written }),
  ...(activity.isHeartbeat ? { heartbeat: true } : {}),
  ...(times === 1 ? {} : { times }),
});

const activity: ApiRoute = {
  method: "GET",
  path: "/api/ns/:namespace/activity",
  needs: "read",
  async handle({ base, query }) {
    const { heartbeats, ...wanted } = readQuery(query, {
      before: wholeNumber(1),
      limit: pageSize({ default: 50, max: 200 }),
      kind: oneOf(historyKinds),
      subject: text(limits.keyBytesMax),
      who: text(limits.keyBytesMax),
      heartbeats: oneOf(["true", "false"]),
    });
    const { items, next } = await readActivity(base, { ...wanted, heartbeats: heartbeats === "true" });
    const page: ActivityAnswer = { items: items.map((item) => toActivityItem(item)), ...(next === undefined ? {} : { next }) };
    return { json: page };
  },
};

const events: ApiRoute = {
  method: "GET",
  path: "/api/ns/:namespace/events",
  needs: "read",
  async handle(request) {
    const { after } = readQuery(request.query, { after: text(64) });
    // A browser that reconnects requests the same URL and sends the last event's id in the header.
    const given = request.lastEventId ?? after;
    // Read before the stream begins, so that a failure still gets its own HTTP status.
    const { revision } = await request.base.store.position();
    return { events: stream(request, given === undefined || given === "" ? { revision } : toPosition(given)) };
  },
};

/** An event's id is the revision, followed by how much of it was sent if more follows. */
function toPosition(id: string): Position {
  const [, revision, seen] = /^(\d{1,16})(?:\.(\d{1,4}))?$/.exec(id) ?? [];
  if (revision === undefined || Number(revision) > limits.revisionMax) throw invalidInput("after", "must be a revision, or the id of the last event received");
  return seen === undefined ? { revision: Number(revision) } : { revision: Number(revision), seen: Number(seen) };
}

const toId = ({ revision, seen }: Position): string => (seen === undefined ? String(revision) : `${revision}.${seen}`);

async function* stream({ base, signal }: ApiRequest, from: Position): AsyncGenerator<ServerSentEvent> {
  const hello: Hello = { revision: from.revision };
  yield { id: toId(from), event: "hello", data: hello };
  for await (const followed of followActivity(base, from, signal)) {
    if (followed.is === "activity") yield { id: toId(followed.position), event: "change", data: toActivityItem(followed.activity, followed.times) };
    else {
      const compacted: CompactedAnswer = { revision: followed.revision };
      yield { id: String(followed.revision), event: "compacted", data: compacted };
    }
  }
}

export const activityRoutes: readonly ApiRoute[] = [activity, events];
