import { onOneLine, plainName, quotedInline, quoteMark } from "../stored-text.ts";
import type { PackItem, PackSection } from "./resume-pack.ts";
import { planOf, shownJson } from "./run-plan.ts";
import { untilText } from "./time-text.ts";
import type { RunDetails, WorkPicture, WorkRun } from "./work-picture.ts";

const shownMax = { name: 80, goal: 300, output: 300, step: 60, doneSteps: 12, heldRuns: 3, heldLeases: 4, others: 6, finished: 5 } as const;

/** Additional data for rendering work. */
export interface WorkReading {
  readonly detailsOf: (run: WorkRun) => RunDetails;
  readonly nowMs: number;
}

const nameOf = ({ run }: WorkRun): string => quotedInline(run.name, shownMax.name);

/** `step 3 of 5 done, next: cli`. */
function progressOf({ run: { lastStep } }: WorkRun, steps: readonly string[]): string {
  if (steps.length === 0) return lastStep === 0 ? "no step done yet" : `step ${lastStep} done`;
  const next = steps[lastStep];
  return next === undefined ? `all ${steps.length} steps done, next: workflow_finish` : `step ${lastStep} of ${steps.length} done, next: ${plainName(next, shownMax.step)}`;
}

/** The goal, the finished steps and effects that must not be repeated, the last output and the last error. */
function detailLines(run: WorkRun, { input, outputs, effects }: RunDetails): readonly string[] {
  const { goal, steps } = planOf(input);
  const { lastStep, error } = run.run;
  const [last] = outputs;
  const named = steps.slice(0, lastStep).map((name, i) => `${i + 1} ${onOneLine(name, shownMax.step)}`);
  const told = outputs.toReversed().map(({ step, output }) => `${step} ${onOneLine(shownJson(output), shownMax.step)}`);
  const done = named.length > 0 ? named : told;
  const skipped = Math.max(0, done.length - shownMax.doneSteps);
  return [
    ...(goal === undefined ? [] : [`${quoteMark}goal: ${onOneLine(goal, shownMax.goal)}`]),
    ...(done.length === 0 ? [] : [`${quoteMark}done, do not repeat: ${skipped === 0 ? "" : "… · "}${done.slice(skipped).join(" · ")}`]),
    ...(effects.length === 0 ? [] : [`${quoteMark}effects done, do not repeat: ${effects.join(" · ")}`]),
    ...(last === undefined ? [] : [`${quoteMark}last output (step ${last.step}): ${onOneLine(shownJson(last.output), shownMax.output)}`]),
    ...(error === undefined || error === null ? [] : [`${quoteMark}failed before: ${onOneLine(shownJson(error), shownMax.output)}`]),
  ];
}

/** "You hold run wf-1 (until 22:26) and lease deploy (until 22:30)." */
export function holdingText({ mine, leases }: WorkPicture, nowMs: number, bytesMax: number): string | undefined {
  const live = mine.filter(({ expiresAtMs }) => expiresAtMs !== undefined);
  const listed = (what: string, names: readonly string[], shown: number): readonly string[] =>
    names.length === 0
      ? []
      : names.length <= shown
        ? names.map((name) => `${what} ${name}`)
        : [...names.slice(0, shown).map((name) => `${what} ${name}`), `${names.length - shown} more ${what}s`];
  const held = [
    ...listed(
      "run",
      live.map(({ runId, expiresAtMs }) => `${plainName(runId)} (${untilText(expiresAtMs as number, nowMs)})`),
      shownMax.heldRuns,
    ),
    ...listed(
      "lease",
      leases.map(({ resource, expiresAtMs }) => `${plainName(resource)} (${untilText(expiresAtMs as number, nowMs)})`),
      shownMax.heldLeases,
    ),
  ];
  if (held.length === 0) return undefined;
  const text = `You hold ${joined(held)}.`;
  if (Buffer.byteLength(text) <= bytesMax) return text;
  return `You hold ${joined([...counted(live.length, "run"), ...counted(leases.length, "lease")])}.`;
}

const joined = (parts: readonly string[]): string => (parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`);
const counted = (count: number, what: string): readonly string[] => (count === 0 ? [] : [`${count} ${what}${count === 1 ? "" : "s"}`]);

/** The caller's runs, and its leases that expired. The first run has the highest priority. */
export function ownWork({ mine, others, agent, lapsedLeases }: WorkPicture, { detailsOf, nowMs }: WorkReading): readonly PackSection[] {
  // A caller without a name may be any of the agents at work here.
  const runs = agent === undefined ? others : mine;
  const sections = runs.map((run, i): PackSection => {
    const details = detailsOf(run);
    const { steps } = planOf(details.input);
    const isLive = run.expiresAtMs !== undefined;
    const call = `→ ${isLive ? "workflow_resume" : "workflow_claim"} ${plainName(run.runId)}`;
    const whose =
      agent === undefined
        ? `, claimed by ${plainName(run.holder as string)} ${untilText(run.expiresAtMs as number, nowMs)} (yours, if that is you)`
        : isLive
          ? ""
          : ", your claim lapsed: claim it again";
    const title = `${i === 0 ? "Now: " : agent === undefined ? "Open: " : "Also yours: "}${nameOf(run)}, ${progressOf(run, steps)}${whose} ${call}`;
    const [first, ...rest] = detailLines(run, details);
    const tier = i === 0 ? 0 : 2;
    const items: PackItem[] = [
      { counts: "runs", lines: first === undefined ? ["Nothing is known of its goal or outputs."] : [first], tier },
      ...rest.map((line) => ({ lines: [line], tier })),
    ];
    return { title, items };
  });
  const lapsed = lapsedLeases.map(({ resource }) => ({
    lines: [`- lease ${plainName(resource)} lapsed → lease_acquire ${plainName(resource)} before you continue under it`],
    tier: 1,
  }));
  return [...sections, ...(lapsed.length === 0 ? [] : [{ title: "No longer yours", items: lapsed }])];
}

/** Runs that any agent may claim, starting with those that another agent left. */
export function freeWork({ free }: WorkPicture, { detailsOf }: WorkReading): PackSection {
  const items = free.map((run, i): PackItem => {
    const details = detailsOf(run);
    const { steps } = planOf(details.input);
    const left = run.holder === undefined ? "" : `, the claim of ${plainName(run.holder)} lapsed`;
    const line = `- run ${nameOf(run)}, ${progressOf(run, steps)}${left} → workflow_claim ${plainName(run.runId)}`;
    return { counts: "runs", lines: [line, ...detailLines(run, details)], tier: i === 0 ? 2 : i < 4 ? 4 : 6 };
  });
  return { title: "Free to take", items };
}

/** The live work of other agents in one line, and the number of runs in other workspaces. `leases` is the number of leases in that line. */
export function othersWork({ others, othersLeases, agent, elsewhere }: WorkPicture): PackSection & { readonly leases: number } {
  const runs = (agent === undefined ? [] : others).slice(0, shownMax.others);
  const leases = othersLeases.slice(0, shownMax.others - runs.length);
  const named = [
    ...runs.map((run) => `${plainName(run.holder as string)} on ${nameOf(run)}`),
    ...leases.map(({ holder, resource }) => `${plainName(holder)} holds lease ${plainName(resource)}`),
  ];
  const rest = (agent === undefined ? 0 : others.length) + othersLeases.length - named.length;
  const items: PackItem[] = [
    ...(named.length === 0 ? [] : [{ counts: "others", lines: [`Others at work: ${named.join("; ")}${rest > 0 ? `; ${rest} more` : ""}.`], tier: 3 }]),
    ...(elsewhere === 0 ? [] : [{ lines: [`${elsewhere} open ${elsewhere === 1 ? "run" : "runs"} in other workspaces.`], tier: 3 }]),
  ];
  return { items, leases: leases.length };
}

export function finishedWork({ finished, agent }: WorkPicture, isNews: (run: WorkRun) => boolean): PackSection {
  const items = finished
    .filter(isNews)
    .slice(0, shownMax.finished)
    .map(({ run }): PackItem => {
      const by = run.endedBy === undefined ? "" : run.endedBy.agentId === agent ? " by you" : ` by ${onOneLine(run.endedBy.agentId, shownMax.name)}`;
      const outcome = run.status === "done" ? run.result : run.error;
      return {
        counts: "runs",
        lines: [
          `${quoteMark}run ${onOneLine(run.name, shownMax.name)}: ${run.status}${by}${outcome === undefined || outcome === null ? "" : `: ${onOneLine(shownJson(outcome), shownMax.output)}`}`,
        ],
        tier: 3,
      };
    });
  return { title: "Finished, do not repeat", items };
}
