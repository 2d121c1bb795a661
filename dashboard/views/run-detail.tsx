import { useState } from "preact/hooks";
import type { RunDetail, SteppedIn } from "../../src/surfaces/dashboard/api.ts";
import { RunChart } from "../charts/run-chart.tsx";
import { ApiFailure, queryText, requestApi } from "../data/api-client.ts";
import { useQuery } from "../data/use-query.ts";
import { Who } from "../parts/activity-line.tsx";
import { RunStatusBadge } from "../parts/badge.tsx";
import { Confirm } from "../parts/dialog.tsx";
import { FieldInput } from "../parts/field.tsx";
import { durationText, formatClockSeconds, formatDayHeading } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { JsonView } from "../parts/json-view.tsx";
import { announce } from "../parts/notice.tsx";
import { FactList, PageHead, Panel } from "../parts/panel.tsx";
import { AnswerPanel, Empty } from "../parts/state-panels.tsx";
import { Name } from "../parts/stored-text.tsx";
import { Ago, At, Countdown } from "../parts/time.tsx";
import { plain } from "../parts/unseen.ts";
import { hrefOf } from "../router.ts";
import { runOfLease } from "../subject-href.ts";
import { useView } from "../view-context.ts";
import { RunSteps, stepNames } from "./run-steps.tsx";

type Run = RunDetail["run"];
type Action = "return" | "cancel";

export function RunDetailView({ runId }: { readonly runId: string }) {
  const { api, namespace, canWrite } = useView();
  const [action, setAction] = useState<Action>();
  const query = useQuery<RunDetail>(
    `${api}/run${queryText({ id: runId })}`,
    ({ kind, subject }) => (kind === "workflow" && subject === runId) || (kind === "lease" && runOfLease(subject) === runId),
  );
  const run = query.data?.run;
  const open = run !== undefined && !["done", "failed", "cancelled"].includes(run.status);
  const held = run !== undefined && (run.status === "claimed" || run.status === "running") && run.agent !== undefined && run.token !== undefined;
  return (
    <>
      <PageHead
        back={{ href: hrefOf(namespace, "runs"), text: "Runs" }}
        title={<Name text={run?.name ?? runId} mono={false} />}
        actions={
          canWrite &&
          open && (
            <>
              {held && (
                <button type="button" class="button" onClick={() => setAction("return")}>
                  <Icon name="undo" /> Return
                </button>
              )}
              <button type="button" class="button danger-text" onClick={() => setAction("cancel")}>
                <Icon name="stop" /> Cancel run
              </button>
            </>
          )
        }
      />
      <AnswerPanel query={query} what="the run">
        {(detail) => <Detail detail={detail} />}
      </AnswerPanel>
      {run !== undefined && action === "return" && <ReturnDialog run={run} onClose={() => setAction(undefined)} />}
      {run !== undefined && action === "cancel" && <CancelDialog run={run} onClose={() => setAction(undefined)} />}
    </>
  );
}

function Detail({ detail }: { readonly detail: RunDetail }) {
  const { namespace } = useView();
  const { run, timeline } = detail;
  const finished = ["done", "failed", "cancelled"].includes(run.status);
  const claimed = run.status === "claimed" || run.status === "running";
  const names = stepNames(detail.input);
  return (
    <>
      <FactList
        facts={[
          ["Status", <RunStatusBadge key="status" status={run.status} />],
          ["Id", <Name key="id" text={run.runId} />],
          ["Agent", run.agent === undefined ? undefined : <Name key="agent" text={run.agent} mono={false} />],
          ["Claim ends", claimed && run.claimExpiresAtMs !== undefined ? <Countdown key="claim" until={run.claimExpiresAtMs} /> : undefined],
          ["Last step", names.length > 0 ? `${run.lastStep} of ${names.length}` : run.lastStep],
          ["Tries", run.attempts],
          ["Priority", run.priority === undefined || run.priority === 0 ? undefined : run.priority],
          [
            "Effects",
            <a key="effects" href={hrefOf(namespace, "effects", undefined, { run: run.runId })}>
              what it did outside
            </a>,
          ],
          ["Created", <Ago key="created" at={run.createdAtMs} />],
          ["Changed", <Ago key="changed" at={run.updatedAtMs} />],
          ["Took", finished ? durationText(run.updatedAtMs - (run.startedAtMs ?? run.createdAtMs)) : undefined],
          ["Tags", Object.keys(run.tags).length === 0 ? undefined : <Tags key="tags" tags={run.tags} />],
        ]}
      />
      <Stuck detail={detail} />
      {detail.input !== undefined && (
        <Panel title="Input">
          <JsonView value={detail.input} label="Input of the run" />
        </Panel>
      )}
      {detail.error !== undefined && (
        <Panel title="Error" class="bad">
          <JsonView value={detail.error} label="Error of the run" />
        </Panel>
      )}
      {detail.result !== undefined && (
        <Panel title="Result">
          <JsonView value={detail.result} label="Result of the run" />
        </Panel>
      )}
      <Panel title="Who had it">
        <RunChart timeline={timeline} finished={finished} />
        {!timeline.some(({ what }) => what === "claimed" || what === "step") && <Empty title="No agent has taken it yet">An agent takes it with workflow_claim.</Empty>}
      </Panel>
      <div class="grid">
        <RunSteps detail={detail} />
        <Panel title="What happened" class="whole">
          <Timeline timeline={timeline} complete={detail.timelineComplete !== false} />
        </Panel>
      </div>
    </>
  );
}

/** After these events an unfinished run has no known worker. */
const handing: readonly string[] = ["claimed", "taken over", "lapsed", "returned", "done", "failed", "cancelled"];

/** Says that an agent stopped and none has taken over; the status "waiting" does not say that. */
function Stuck({ detail: { run, timeline } }: { readonly detail: RunDetail }) {
  const last = timeline.findLast(({ what }) => handing.includes(what));
  if (last?.what !== "lapsed") return null;
  const claim = timeline.findLast(({ what }) => what === "claimed" || what === "taken over");
  const steps = timeline.flatMap(({ what, step }) => (what === "step" && step !== undefined ? [step] : []));
  const times =
    run.attempts > 1 ? ` It was claimed ${run.attempts} times${steps.length === 0 ? " and never reached its first step" : `, and never got past step ${run.lastStep}`}.` : "";
  return (
    <p class="banner warn" role="status">
      <span>
        <strong>Stuck:</strong> <Name text={claim?.agent ?? run.agent ?? "its agent"} mono={false} /> stopped reporting{" "}
        {run.lastStep === 0 ? "before the first step" : `after step ${run.lastStep}`}, its claim lapsed <Ago at={last.atMs} />, and no agent has taken over.{times} Any agent can
        claim it now; cancel it if none should.
      </span>
    </p>
  );
}

function Tags({ tags }: { readonly tags: Run["tags"] }) {
  const { namespace } = useView();
  return (
    <span class="run-tags">
      {Object.entries(tags).map(([name, value]) => (
        <a key={name} class="chip" href={hrefOf(namespace, "runs", undefined, { tag: `${name}=${value}` })}>
          <Name text={`${name}=${value}`} />
        </a>
      ))}
    </span>
  );
}

const tones: Readonly<Record<RunDetail["timeline"][number]["what"], string>> = {
  created: "off",
  claimed: "live",
  "taken over": "wait",
  renewed: "off",
  lapsed: "wait",
  returned: "wait",
  step: "live",
  done: "good",
  failed: "bad",
  cancelled: "off",
  changed: "off",
};

function Timeline({ timeline, complete }: { readonly timeline: RunDetail["timeline"]; readonly complete: boolean }) {
  const nowMs = Date.now();
  let day = "";
  return (
    <>
      <ol class="timeline">
        {timeline.toReversed().map(({ what, atMs, revision, step, agent, writer, token, times }) => {
          const heading = formatDayHeading(atMs, nowMs);
          const newDay = heading !== day;
          day = heading;
          return (
            <li key={`${revision} ${what} ${step}`} class={tones[what]}>
              {newDay && <div class="timeline-day">{heading}</div>}
              <div class="timeline-line">
                <span class="timeline-dot" />
                <span class="timeline-what">
                  {what === "step" ? `step ${step}` : what}
                  {times !== undefined && times > 1 && <span class="muted"> × {times}</span>}
                </span>
                <span class="timeline-who">
                  <Who agent={agent} writer={writer} />
                  {token !== undefined && <span class="muted"> · token {token}</span>}
                </span>
                <At at={atMs} as={formatClockSeconds} />
              </div>
            </li>
          );
        })}
      </ol>
      {!complete && <p class="muted">What happened before is no longer kept, or more than is shown.</p>}
    </>
  );
}

/** The run is now held by another agent or by none: say so instead of acting on the wrong hold. */
function explainLost(error: unknown, run: Pick<Run, "agent">): string | undefined {
  if (!(error instanceof ApiFailure) || error.status !== 409) return undefined;
  if (error.code === "workflow_finished") return "The run has ended; there is nothing left to do.";
  return `Meanwhile ${plain(run.agent ?? "its holder")} no longer has this run, so nothing was changed. Close this and look again.`;
}

function ReturnDialog({ run, onClose }: { readonly run: Run; onClose(): void }) {
  const { api } = useView();
  const act = async () => {
    try {
      await requestApi<SteppedIn>(`${api}/runs/return`, { method: "POST", body: { runId: run.runId, token: run.token } });
    } catch (error) {
      const lost = explainLost(error, run);
      if (lost === undefined) throw error;
      return lost;
    }
    announce(`${run.name} was returned and can be claimed by any agent.`);
    return undefined;
  };
  return (
    <Confirm title="Return this run?" action="Return the run" act={act} onClose={onClose}>
      <p>
        <Name text={run.agent ?? ""} mono={false} /> loses its claim on <Name text={run.name} mono={false} />. Its {run.lastStep === 0 ? "steps" : `steps up to ${run.lastStep}`}{" "}
        stay, and any agent can take the run from there. What <Name text={run.agent ?? ""} mono={false} /> reports after that is refused.
      </p>
    </Confirm>
  );
}

export function CancelDialog({ run, onClose }: { readonly run: Pick<Run, "runId" | "name" | "status" | "agent" | "token">; onClose(): void }) {
  const { api } = useView();
  const [reason, setReason] = useState("");
  const held = run.status === "claimed" || run.status === "running";
  const act = async () => {
    try {
      await requestApi<SteppedIn>(`${api}/runs/cancel`, {
        method: "POST",
        body: { runId: run.runId, ...(run.token === undefined ? {} : { token: run.token }), ...(reason.trim() === "" ? {} : { reason: reason.trim() }) },
      });
    } catch (error) {
      const lost = explainLost(error, run);
      if (lost === undefined) throw error;
      return lost;
    }
    announce(`${run.name} was cancelled.`);
    return undefined;
  };
  return (
    <Confirm title="Cancel this run?" action="Cancel the run" danger act={act} onClose={onClose}>
      <p>
        <Name text={run.name} mono={false} /> ends as cancelled, for good: no agent can claim it again. Its steps and outputs stay readable.
        {held && run.agent !== undefined && (
          <>
            {" "}
            <Name text={run.agent} mono={false} /> is working on it and will be refused at its next step.
          </>
        )}
      </p>
      <FieldInput label="Why (optional)" hint="Kept with the run.">
        {(ids) => <input {...ids} type="text" maxLength={500} value={reason} onInput={(event) => setReason(event.currentTarget.value)} />}
      </FieldInput>
    </Confirm>
  );
}
