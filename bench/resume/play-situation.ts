import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gitEnvironment } from "../../src/config.ts";
import { beginEffect } from "../../src/domain/effects/begin-effect.ts";
import { finishEffect } from "../../src/domain/effects/finish-effect.ts";
import type { EffectIdentity } from "../../src/domain/effects/identity.ts";
import { listEntries } from "../../src/domain/journal/find-entries.ts";
import { openFolderReader } from "../../src/domain/workspace/repository-reader.ts";
import { readRepositoryState } from "../../src/domain/workspace/repository-state.ts";
import type { Surroundings } from "../../src/domain/workspace/workspace.ts";
import { locateWorkspace } from "../../src/domain/workspace/workspace.ts";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import { parseDurationMs } from "../../src/kernel/duration.ts";
import type { Json } from "../../src/kernel/json.ts";
import { silentLog } from "../../src/kernel/log.ts";
import { engineFacts } from "../../src/store/engine-facts.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import type { HookEvent } from "../../src/surfaces/hooks/hook-events.ts";
import { readHookInput } from "../../src/surfaces/hooks/hook-input.ts";
import { runHook } from "../../src/surfaces/hooks/run-hook.ts";
import { catalog } from "../../src/tools/catalog.ts";
import { ConnectionClaims } from "../../src/tools/claim-identity.ts";
import { ownWorkspaceId } from "../../src/tools/own-workspace.ts";
import type { ToolBase } from "../../src/tools/run-tool.ts";
import { runTool } from "../../src/tools/run-tool.ts";
import { createRepository, git } from "../../test/support/git-repository.ts";
import { manualClock } from "../../test/support/manual-clock.ts";
import type { EngineCalls } from "./counted-engine.ts";
import { countedEngine } from "./counted-engine.ts";
import type { Situation, Step } from "./situation.ts";

export interface Asked extends EngineCalls {
  readonly text: string;
}
export interface Played {
  /** The output of `resume`, or of the hook, within this many tokens. */
  ask(tokensMax: number): Promise<Asked>;
  /** The baseline: the newest part of the journal that fits. */
  tail(tokensMax: number): Promise<string>;
}

const hookTimeoutMs = 3_600_000;
const tailEntriesMax = 100;

/** Performs all steps of a situation through the real tools and hooks, on the memory engine, in real repositories under `folder`, with its own clock. */
export async function playSituation(situation: Situation, folder: string): Promise<Played> {
  const clock = manualClock();
  const { engine, counts, reset } = countedEngine(new MemoryEngine(clock));
  const home = realpathSync(folder);
  const claims = new ConnectionClaims();
  const folders = new Map<string, string>();
  const folderOf = (project = situation.project): string => {
    const known = folders.get(project) ?? createRepository(home, project);
    folders.set(project, known);
    return known;
  };
  // One reader, as in a server: it remembers what it learnt about a folder.
  const reader = openFolderReader();
  const readState = (repository: string) => readRepositoryState(repository, gitEnvironment(), hookTimeoutMs);
  const surroundingsOf = (project?: string): Surroundings => ({ folder: folderOf(project), home, reader, readState });
  const baseOf = (by: string, project?: string): ToolBase => ({
    store: openNamespaceStore(engine, "bench", clock),
    clock,
    writer: "sam",
    server: { version: "0.0.0", startedAtMs: clock.nowMs(), claimTtlMs: 900_000, ...engineFacts(engine), claims, surroundings: surroundingsOf(project) },
    connection: `session-${by}`,
  });
  const call = async (by: string, name: string, args: Readonly<Record<string, unknown>> = {}, project?: string): Promise<Record<string, unknown>> => {
    const tool = catalog.find((candidate) => candidate.name === name);
    if (tool === undefined) throw new Error(`${situation.name}: there is no tool ${name}`);
    const outcome = await runTool(tool, args, baseOf(by, project), {}, silentLog);
    if (!outcome.ok) throw new Error(`${situation.name}: ${name} failed: ${outcome.error.message}`);
    return outcome.structured;
  };
  const hook = async (event: HookEvent, input: Readonly<Record<string, unknown>> = {}, project?: string, packTokensMax?: number): Promise<string> => {
    const read = await readHookInput(oneChunk(JSON.stringify({ cwd: folderOf(project), ...input })));
    const context = { scope: baseOf("hook", project), surroundings: surroundingsOf(project), gitEnvironment: gitEnvironment(), timeoutMs: hookTimeoutMs, packTokensMax };
    return runHook(event, read, context);
  };
  const act = async (step: Step): Promise<void> => {
    if ("wait" in step) clock.advance(requireDuration(situation, step.wait));
    else if ("effect" in step) await performEffect(baseOf(step.by, step.in), step);
    else if ("call" in step) await call(step.by, step.call, step.with, step.in);
    else if ("hook" in step) await hook(step.hook, step.with, step.in);
    else if ("edit" in step) writeFiles(folderOf(step.in), step.edit);
    else commitAll(folderOf(step.in), step.commit);
    // Everything takes a moment: no two entries have the same millisecond.
    clock.advance(1_000);
  };
  folderOf();
  for (const step of situation.steps) await act(step);
  const { ask } = situation;
  return {
    async ask(tokensMax) {
      // The first call's lookup of the folder is not counted.
      await locateWorkspace(openNamespaceStore(engine, "bench", clock), surroundingsOf());
      reset();
      if ("hook" in ask) {
        const printed = await hook(ask.hook, ask.with, undefined, tokensMax);
        return { text: printed === "" ? "" : (JSON.parse(printed).hookSpecificOutput.additionalContext as string), ...counts };
      }
      const { text } = await call(ask.by, "resume", { ...ask.with, max_tokens: tokensMax });
      return { text: text as string, ...counts };
    },
    async tail(tokensMax) {
      const store = openNamespaceStore(engine, "bench", clock);
      const workspace = await locateWorkspace(store, surroundingsOf());
      const { entries } = await listEntries({ store }, { workspace, limit: tailEntriesMax });
      const texts = entries.map(({ description, workContext, highlights }) => [description, workContext ?? "", ...highlights].filter((line) => line !== "").join("\n"));
      return [...texts.join("\n\n")].slice(0, tokensMax * 4).join("");
    },
  };
}

const effectLiveMs = 30_000;

/** As a program that records its effects, in its own workspace. */
async function performEffect(base: ToolBase, { effect, by, ends, answer = null }: Extract<Step, { readonly effect: unknown }>): Promise<void> {
  const scope = { ...base, agent: by };
  const begun = await beginEffect(scope, { identity: effect as unknown as EffectIdentity, liveMs: effectLiveMs, workspace: await ownWorkspaceId(base) });
  if (begun.outcome !== "begun") throw new Error(`the effect ${JSON.stringify(effect)} was not begun: ${begun.outcome}`);
  if (ends === "done") await finishEffect(scope, { ...begun, outcome: { state: "done", answer: answer as Json } });
  if (ends === "failed") await finishEffect(scope, { ...begun, outcome: { state: "failed", error: answer as Json } });
}

async function* oneChunk(text: string): AsyncIterable<Uint8Array> {
  yield Buffer.from(text);
}

function requireDuration({ name }: Situation, text: string): number {
  const ms = parseDurationMs(text);
  if (ms === undefined) throw new Error(`${name}: wait: must be a duration such as 90s, 10m or 3d (got ${JSON.stringify(text)})`);
  return ms;
}

function writeFiles(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

function commitAll(folder: string, message: string): void {
  git(folder, "add", "-A");
  git(folder, "commit", "-q", "--allow-empty", "-m", message);
}
