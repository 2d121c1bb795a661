import { useEffect, useRef, useState } from "preact/hooks";
import type { SearchResults as SearchAnswer } from "../../src/surfaces/dashboard/api.ts";
import { useCell } from "../cell.ts";
import { queryText } from "../data/api-client.ts";
import { useQuery } from "../data/use-query.ts";
import { plural } from "../parts/format.ts";
import type { IconName } from "../parts/icon.tsx";
import { Icon } from "../parts/icon.tsx";
import { markedText } from "../parts/marked-text.tsx";
import { PageHead } from "../parts/panel.tsx";
import { AnswerPanel, Empty } from "../parts/state-panels.tsx";
import { Ago } from "../parts/time.tsx";
import { hrefOf, refine, route } from "../router.ts";
import { searchBoxMark } from "../shortcuts.tsx";
import { runOfLease } from "../subject-href.ts";
import { useView } from "../view-context.ts";

type Hit = SearchAnswer["hits"][number];

const kinds: readonly (readonly [Hit["kind"], string, IconName])[] = [
  ["run", "Runs", "runs"],
  ["lease", "Leases", "leases"],
  ["key", "Keys", "keys"],
  ["journal", "Journal", "journal"],
  ["note", "Notes", "knowledge"],
  ["research", "Research", "knowledge"],
];

export function SearchView() {
  const { api } = useView();
  const { query } = useCell(route);
  const asked = query.get("q") ?? "";
  const [typed, setTyped] = useState(asked);
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    setTyped(asked);
  }, [asked]);
  useEffect(() => {
    if (typed === asked) return;
    const timer = setTimeout(() => refine({ q: typed }), 250);
    return () => clearTimeout(timer);
  }, [typed]);
  useEffect(() => box.current?.focus(), []);
  // Results are not updated while they are read: moving lines would be hard to read.
  const answer = useQuery<SearchAnswer>(asked.trim() === "" ? undefined : `${api}/search${queryText({ q: asked })}`, () => false);
  return (
    <>
      <PageHead title="Search" lead="Keys, runs, leases, the journal, notes and research, all at once." />
      <search>
        <form
          class="filters"
          onSubmit={(event) => {
            event.preventDefault();
            refine({ q: typed });
          }}
        >
          <label class="wide">
            Search for
            <input ref={box} {...searchBoxMark} type="search" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
          </label>
        </form>
      </search>
      {asked.trim() === "" ? (
        <Empty title="What are you looking for?">Words of a note or a journal entry, the beginning of a key, the name of a run.</Empty>
      ) : (
        <AnswerPanel query={answer} what="what was found">
          {(found) =>
            found.hits.length === 0 ? (
              <Empty title="Nothing was found">
                Try other words: names match by any part, texts by whole words.{" "}
                {Object.keys(found.looked).length > 0 && `Only ${kinds.flatMap(([kind]) => lookedAt(kind, found) ?? []).join(", ")} were searched by name.`}
              </Empty>
            ) : (
              <Hits found={found} question={asked} />
            )
          }
        </AnswerPanel>
      )}
    </>
  );
}

const looked: Readonly<Partial<Record<Hit["kind"], string>>> = { run: "the newest", lease: "the first", key: "the first" };
const lookedAt = (kind: Hit["kind"], { looked: numbers }: SearchAnswer): string | undefined => {
  const count = numbers[kind];
  return count === undefined ? undefined : `${looked[kind] ?? "the first"} ${plural(count, kind)}`;
};

function Hits({ found: answer, question }: { readonly found: SearchAnswer; readonly question: string }) {
  const { namespace } = useView();
  const { hits, more } = answer;
  return (
    <>
      <p class="muted count" role="status">
        {more.length === 0 ? plural(hits.length, "hit") : `The first ${plural(hits.length, "hit")}; add words to find fewer and better ones`}
      </p>
      {kinds.map(([kind, title, icon]) => {
        const found = hits.filter((hit) => hit.kind === kind);
        if (found.length === 0) return null;
        const among = lookedAt(kind, answer);
        return (
          <section key={kind} class="hits">
            <h2>
              <Icon name={icon} /> {title}
              {more.includes(kind) && <span class="muted small">the first {found.length}, there are more</span>}
              {among !== undefined && <span class="muted small">among {among}</span>}
            </h2>
            <ul class="list">
              {found.map((hit) => (
                <HitRow key={hit.id} hit={hit} href={hitHref(namespace, hit)} question={question} />
              ))}
            </ul>
          </section>
        );
      })}
    </>
  );
}

function HitRow({ hit: { kind, id, title, excerpt, atMs }, href, question }: { readonly hit: Hit; readonly href: string; readonly question: string }) {
  // A title is often the beginning of the text, which need not be shown twice.
  const repeats = excerpt.startsWith(title.replace(/…$/, ""));
  return (
    <li>
      <div class="grow">
        <a class={kind === "key" || (kind === "lease" && title === id) ? "mono" : undefined} href={href}>
          <bdi>{markedText((repeats ? excerpt : title).slice(0, 300), question)}</bdi>
        </a>
        {excerpt !== "" && !repeats && (
          <p class="excerpt">
            <bdi>{markedText(excerpt.slice(0, 400), question)}</bdi>
          </p>
        )}
      </div>
      <Ago at={atMs} />
    </li>
  );
}

function hitHref(namespace: string, { kind, id }: Hit): string {
  if (kind === "key") return hrefOf(namespace, "keys", id);
  if (kind === "run") return hrefOf(namespace, "runs", id);
  if (kind === "note") return hrefOf(namespace, "knowledge", id);
  if (kind === "journal" || kind === "research") return hrefOf(namespace, kind, id);
  const run = runOfLease(id);
  return run === undefined ? hrefOf(namespace, "leases", undefined, { resource: id }) : hrefOf(namespace, "runs", run);
}
