import type { ActivityItem } from "../../src/surfaces/dashboard/api.ts";
import { subjectHref } from "../subject-href.ts";
import { KindTag } from "./badge.tsx";
import { Name } from "./stored-text.tsx";
import { Ago } from "./time.tsx";

/** Whose credential an agent used. */
export const Via = ({ writer }: { readonly writer: string }) => (
  <span class="muted" title="Who was authenticated: a token, a person or a service. The name before it is what the agent calls itself.">
    via <Name text={writer} mono={false} />
  </span>
);

/** The agent that made the change, and the person or token it was authenticated as. */
export function Who({ agent, writer }: { readonly agent?: string; readonly writer: string }) {
  if (agent === undefined || agent === writer) return <Name text={writer} mono={false} />;
  return (
    <span class="who">
      <Name text={agent} mono={false} /> <Via writer={writer} />
    </span>
  );
}

/** Shows the readable name if there is one. */
export function Subject({ item, namespace }: { readonly item: Pick<ActivityItem, "kind" | "subject" | "title" | "written" | "revision">; readonly namespace: string }) {
  const href = subjectHref(namespace, item);
  if (item.subject === "") return <span class="muted">(its name is not shown)</span>;
  const name = <Name text={item.title ?? item.subject} mono={item.title === undefined} />;
  return href === undefined ? name : <a href={href}>{name}</a>;
}

/** One change in a feed: operation, subject, writer and time. */
export function ActivityLine({ item, namespace }: { readonly item: ActivityItem; readonly namespace: string }) {
  return (
    <li class="feed-item">
      <KindTag kind={item.kind} />
      <div class="feed-what">
        <div class="feed-subject">
          <Subject item={item} namespace={namespace} />
        </div>
        <div class="feed-who">
          <span class="operation">{item.operation}</span>
          {item.times !== undefined && item.times > 1 && ` ${item.times} times`} by <Who agent={item.agent} writer={item.writer} />
        </div>
      </div>
      <Ago at={item.atMs} />
    </li>
  );
}
