import { Fragment } from "preact";
import { useState } from "preact/hooks";
import type { RunDetail } from "../../src/surfaces/dashboard/api.ts";
import type { ApiFailure } from "../data/api-client.ts";
import { asFailure, queryText, requestApi } from "../data/api-client.ts";
import { Who } from "../parts/activity-line.tsx";
import { durationText, formatNumber } from "../parts/format.ts";
import { JsonView, prettyJson } from "../parts/json-view.tsx";
import { Panel } from "../parts/panel.tsx";
import { Empty, Failed } from "../parts/state-panels.tsx";
import { Name, visibleText } from "../parts/stored-text.tsx";
import { Ago } from "../parts/time.tsx";
import { useView } from "../view-context.ts";

type Step = RunDetail["steps"][number];

/** The creator's names for the steps, if the input lists them: `steps: ["build", …]` or `steps: [{name: "build"}, …]`. */
export function stepNames(input: unknown): readonly string[] {
  const { steps } = (typeof input === "object" && input !== null ? input : {}) as { readonly steps?: unknown };
  if (!Array.isArray(steps)) return [];
  return steps.map((step: unknown) => {
    const name = typeof step === "object" && step !== null ? (step as { readonly name?: unknown }).name : step;
    return typeof name === "string" ? name : "";
  });
}

const previewCharacters = 200;

/** Newest first, like the timeline beside it. An output is shown on one line and expands on demand. */
export function RunSteps({ detail: { run, input, steps, moreSteps, timeline } }: { readonly detail: RunDetail }) {
  const { api } = useView();
  const [older, setOlder] = useState<{ readonly steps: readonly Step[]; readonly more: boolean }>();
  const [error, setError] = useState<ApiFailure>();
  const [opened, setOpened] = useState<ReadonlySet<number>>(new Set());
  const all = [...steps, ...(older?.steps ?? [])].toSorted((a, b) => b.step - a.step).filter((step, index, sorted) => step.step !== sorted[index - 1]?.step);
  const names = stepNames(input);
  const toggle = (step: number) => setOpened(new Set(opened.has(step) ? [...opened].filter((each) => each !== step) : [...opened, step]));
  const readOlder = async () => {
    try {
      const page = await requestApi<RunDetail>(`${api}/run${queryText({ id: run.runId, stepsBefore: all.at(-1)?.step })}`);
      setOlder({ steps: [...(older?.steps ?? []), ...page.steps], more: page.moreSteps });
      setError(undefined);
    } catch (failure) {
      setError(asFailure(failure));
    }
  };
  /** Measured from the previous step or from a claim in between, so that idle time does not count. */
  const tookMs = (index: number): number | undefined => {
    const { atMs } = all[index] as Step;
    const before = all[index + 1]?.atMs;
    const taken = timeline.findLast((event) => (event.what === "claimed" || event.what === "taken over") && event.atMs <= atMs)?.atMs;
    const fromMs = Math.max(before ?? Number.NEGATIVE_INFINITY, taken ?? Number.NEGATIVE_INFINITY);
    return Number.isFinite(fromMs) ? atMs - fromMs : undefined;
  };
  return (
    <Panel title="Steps" class="whole" aside={all.length > 0 && (names.length > 0 ? `step ${run.lastStep} of ${names.length}` : formatNumber(all.length))}>
      {all.length === 0 ? (
        <Empty title="No step was reported yet">Each step's output appears here as soon as it is stored.</Empty>
      ) : (
        <table class="step-table">
          <thead>
            <tr>
              <th scope="col">Step</th>
              {names.length > 0 && <th scope="col">Name</th>}
              <th scope="col">Took</th>
              <th scope="col">By</th>
              <th scope="col" class="step-when">
                When
              </th>
              <th scope="col" colSpan={2}>
                Output
              </th>
            </tr>
          </thead>
          <tbody>
            {all.map(({ step, atMs, output, writer, agent }, index) => {
              const took = tookMs(index);
              const isOpen = opened.has(step);
              return (
                <Fragment key={step}>
                  <tr>
                    <td>
                      <span class="step-number">{step}</span>
                    </td>
                    {names.length > 0 && (
                      <td class="step-wraps">
                        <Name text={names[step - 1] ?? ""} mono={false} />
                      </td>
                    )}
                    <td>{took === undefined ? "–" : durationText(took)}</td>
                    <td class="step-wraps">
                      <Who agent={agent} writer={writer} />
                    </td>
                    <td class="step-when">
                      <Ago at={atMs} />
                    </td>
                    <td class="step-output">
                      <code>{visibleText(prettyJson(output).replaceAll(/\n\s*/g, " ").slice(0, previewCharacters))}</code>
                    </td>
                    <td>
                      <button
                        type="button"
                        class="button small"
                        aria-expanded={isOpen}
                        aria-label={`${isOpen ? "Hide" : "Show"} the output of step ${step}`}
                        onClick={() => toggle(step)}
                      >
                        {isOpen ? "Hide" : "Show"}
                      </button>
                    </td>
                  </tr>
                  {isOpen && (
                    <tr>
                      <td colSpan={names.length > 0 ? 7 : 6} class="step-whole">
                        <JsonView value={output} label={`Output of step ${step}`} />
                      </td>
                    </tr>
                  )}
                </Fragment>
              );
            })}
          </tbody>
        </table>
      )}
      {error !== undefined && <Failed error={error} />}
      {(older?.more ?? moreSteps) && (
        <button type="button" class="button load-more" onClick={readOlder}>
          Earlier steps
        </button>
      )}
    </Panel>
  );
}
