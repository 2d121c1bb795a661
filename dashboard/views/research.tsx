import type { ResearchAnswer as ResearchCheckpoint, ResearchPage } from "../../src/surfaces/dashboard/api.ts";
import { queryText } from "../data/api-client.ts";
import { usePages } from "../data/use-pages.ts";
import { useQuery } from "../data/use-query.ts";
import { Who } from "../parts/activity-line.tsx";
import { plural } from "../parts/format.ts";
import { LoadMore } from "../parts/load-more.tsx";
import { FactList, PageHead, Panel } from "../parts/panel.tsx";
import { AnswerPanel, Empty, Listing } from "../parts/state-panels.tsx";
import { Name, Prose, visibleText } from "../parts/stored-text.tsx";
import { Ago } from "../parts/time.tsx";
import { hrefOf } from "../router.ts";
import { useView } from "../view-context.ts";
import { KnowledgeTabs } from "./knowledge.tsx";

type Row = ResearchPage["checkpoints"][number];

export function ResearchView() {
  const { api, namespace } = useView();
  const pages = usePages<ResearchPage, Row>({
    path: `${api}/research`,
    fields: {},
    cursorField: "cursor",
    pageSize: 30,
    pageSizeMax: 50,
    rows: ({ checkpoints }) => checkpoints,
    next: ({ next }) => next,
    keyOf: ({ id }) => id,
    subjectOf: ({ kind, subject, written }) => (kind === "checkpoint" && written !== "journal" ? subject : undefined),
    newcomers: "first",
  });
  return (
    <>
      <PageHead title="Knowledge" lead="The state of each line of research: the question, the thesis, and the agent's confidence." />
      <KnowledgeTabs chosen="research" />
      <Listing
        pages={pages}
        what="research checkpoints"
        empty={<Empty title="No research checkpoints yet">Agents save one with save_checkpoint when a question, a thesis or a turn in their research is worth keeping.</Empty>}
      >
        <p class="muted count" role="status">
          {plural(pages.rows.length, "checkpoint")}
          {pages.more && " so far"}
        </p>
        <ul class="cards one">
          {pages.rows.map(({ id, atMs, question, thesis, confidence }) => (
            <li key={id} class="card">
              <div class="card-head">
                <a class="card-link" href={hrefOf(namespace, "research", id)}>
                  <bdi>{visibleText(question.slice(0, 300))}</bdi>
                </a>
                {confidence !== undefined && <Confidence value={confidence} />}
              </div>
              <p class="card-text">
                <bdi>{visibleText(thesis.slice(0, 400))}</bdi>
              </p>
              <div class="card-foot">
                <Name text={id} />
                <Ago at={atMs} />
              </div>
            </li>
          ))}
        </ul>
        <LoadMore more={pages.more} loading={pages.loadingMore} onMore={pages.loadMore} text="Older checkpoints" />
      </Listing>
    </>
  );
}

function Confidence({ value }: { readonly value: number }) {
  const percent = Math.round(value * 100);
  return (
    <span class="confidence">
      <meter min={0} max={100} value={percent} aria-label={`Confidence ${percent} percent`} />
      {percent} %
    </span>
  );
}

/** A checkpoint never changes, so no event makes the page read it again. */
export function ResearchDetailView({ id }: { readonly id: string }) {
  const { api, namespace } = useView();
  const query = useQuery<ResearchCheckpoint>(`${api}/checkpoint${queryText({ id })}`, () => false);
  return (
    <>
      <PageHead back={{ href: hrefOf(namespace, "research"), text: "Research" }} title={<bdi>{visibleText(query.data?.question ?? id)}</bdi>} />
      <AnswerPanel query={query} what="the checkpoint">
        {(checkpoint) => <Detail checkpoint={checkpoint} />}
      </AnswerPanel>
    </>
  );
}

const relationSigns: Readonly<Record<string, string>> = { supports: "+", contradicts: "−", nuances: "~" };

function Detail({ checkpoint }: { readonly checkpoint: ResearchCheckpoint }) {
  const { namespace } = useView();
  const { openQuestions: questions, sources, tensions, contributions: found, action, skill, workspace, continues } = checkpoint;
  return (
    <>
      <FactList
        facts={[
          ["Confidence", <Confidence key="confidence" value={checkpoint.confidence} />],
          ["Saved", <Ago key="saved" at={checkpoint.atMs} />],
          ["By", <Who key="by" agent={checkpoint.agent} writer={checkpoint.writer} />],
          ["Why it was saved", checkpoint.trigger.replaceAll("_", " ")],
          ["For skill", skill === undefined ? undefined : <Name key="skill" text={skill} />],
          ["Workspace", workspace === undefined ? undefined : <Name key="workspace" text={workspace} mono={false} />],
          [
            "Continues",
            continues === undefined ? undefined : (
              <a key="continues" href={hrefOf(namespace, "research", continues)}>
                <Name text={continues} />
              </a>
            ),
          ],
          ["Id", <Name key="id" text={checkpoint.id} />],
        ]}
      />
      <Panel title="Thesis">
        <Prose text={checkpoint.thesis} />
      </Panel>
      <div class="grid">
        {questions.length > 0 && (
          <Panel title="Open questions" class="half">
            <ul class="bullets">
              {questions.map((question) => (
                <li key={question}>
                  <Prose text={question} />
                </li>
              ))}
            </ul>
          </Panel>
        )}
        {sources.length > 0 && (
          <Panel title="Sources" class="half">
            <ul class="sources">
              {sources.map((source) => (
                <li key={`${source.id} ${source.take}`} class={source.relation}>
                  <span class="source-sign" title={source.relation}>
                    {relationSigns[source.relation] ?? "·"}
                  </span>
                  <div>
                    <Name text={source.id} /> <span class="muted">{source.type}</span>
                    <Prose text={source.take} />
                  </div>
                </li>
              ))}
            </ul>
          </Panel>
        )}
        {tensions.length > 0 && (
          <Panel title="Tensions" class="half">
            <ul class="bullets">
              {tensions.map(({ between, nature, resolution }) => (
                <li key={`${between.join(" ")} ${nature}`}>
                  <Name text={between.join(" against ")} mono={false} /> <span class="muted">{resolution}</span>
                  <Prose text={nature} />
                </li>
              ))}
            </ul>
          </Panel>
        )}
        {found.length > 0 && (
          <Panel title="Found out" class="half">
            <ul class="bullets">
              {found.map(({ type, content }) => (
                <li key={content}>
                  <span class="muted">{type}</span>
                  <Prose text={content} />
                </li>
              ))}
            </ul>
          </Panel>
        )}
        {action !== undefined && (
          <Panel title="What it is for" class="half">
            <Prose text={action.goal} />
            <p class="muted">{action.type}</p>
          </Panel>
        )}
      </div>
    </>
  );
}
