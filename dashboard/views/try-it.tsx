import { useEffect, useMemo, useState } from "preact/hooks";
import type { ToolAnswer, ToolsView } from "../../src/surfaces/dashboard/api.ts";
import type { ApiFailure } from "../data/api-client.ts";
import { asFailure, callTool } from "../data/api-client.ts";
import { useQuery } from "../data/use-query.ts";
import { EffectBadge } from "../parts/badge.tsx";
import { Choice } from "../parts/choice.tsx";
import { Confirm } from "../parts/dialog.tsx";
import { FieldInput } from "../parts/field.tsx";
import { durationText } from "../parts/format.ts";
import { JsonView, prettyJson } from "../parts/json-view.tsx";
import { PageHead, Panel } from "../parts/panel.tsx";
import { AnswerPanel, Empty } from "../parts/state-panels.tsx";
import { hrefOf, navigate } from "../router.ts";
import { useView } from "../view-context.ts";
import type { Entered, FormField } from "./tool-form.ts";
import { argumentsOf, enteredOf, formFieldsOf } from "./tool-form.ts";

type Tool = ToolsView["tools"][number];

export function TryItView({ name }: { readonly name?: string }) {
  const { namespace } = useView();
  const query = useQuery<ToolsView>("/api/tools", () => false);
  return (
    <>
      <PageHead title="Try it" lead="Call any tool as an agent would. What you do here is real, and recorded under your name." />
      <AnswerPanel query={query} what="the tools">
        {({ tools }) => {
          if (tools.length === 0) return <Empty title="No tool is available to you">Your token's role or the server's settings allow none.</Empty>;
          const tool = tools.find((each) => each.name === name) ?? tools[0];
          const toolsets = [...new Set(tools.map(({ toolset }) => toolset))];
          return (
            <>
              <form class="filters" onSubmit={(event) => event.preventDefault()}>
                <label class="wide">
                  Tool
                  <select value={tool?.name} onChange={(event) => navigate(hrefOf(namespace, "try", event.currentTarget.value), { replace: true })}>
                    {toolsets.map((toolset) => (
                      <optgroup key={toolset} label={toolset}>
                        {tools
                          .filter((each) => each.toolset === toolset)
                          .map((each) => (
                            <option key={each.name} value={each.name}>
                              {each.name}
                            </option>
                          ))}
                      </optgroup>
                    ))}
                  </select>
                </label>
              </form>
              {name !== undefined && tool?.name !== name && <p class="banner warn">There is no tool {name} that you may call.</p>}
              {tool !== undefined && <ToolForm key={tool.name} tool={tool} />}
            </>
          );
        }}
      </AnswerPanel>
    </>
  );
}

interface Outcome {
  readonly answer?: ToolAnswer;
  readonly error?: ApiFailure;
  readonly tookMs: number;
}

function ToolForm({ tool }: { readonly tool: Tool }) {
  const { namespace } = useView();
  const parameters = useMemo(() => formFieldsOf(tool.input), [tool]);
  const [mode, setMode] = useState<"form" | "json">("form");
  const [entered, setEntered] = useState<Entered>({});
  const [raw, setRaw] = useState("{}");
  const [touched, setTouched] = useState(false);
  const [asking, setAsking] = useState(false);
  const [busy, setBusy] = useState(false);
  const [outcome, setOutcome] = useState<Outcome>();
  useEffect(() => setOutcome(undefined), [namespace]);

  const form = argumentsOf(parameters, entered);
  const parsedRaw = parseObject(raw);
  const problems = mode === "form" ? Object.keys(form.problems).length > 0 : parsedRaw.problem !== undefined;
  const args = mode === "form" ? form.args : parsedRaw.value;

  const change = (next: "form" | "json"): void => {
    if (next === "json") setRaw(prettyJson(form.args));
    else if (parsedRaw.value !== undefined) setEntered(enteredOf(parameters, parsedRaw.value));
    setMode(next);
  };
  const call = async (): Promise<undefined> => {
    setBusy(true);
    const fromMs = performance.now();
    try {
      const answer = await callTool(namespace, tool.name, args ?? {});
      setOutcome({ answer, tookMs: performance.now() - fromMs });
    } catch (error) {
      setOutcome({ error: asFailure(error), tookMs: performance.now() - fromMs });
    }
    setBusy(false);
    return undefined;
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    setTouched(true);
    if (problems || busy) return;
    if (tool.effect === "destructive") setAsking(true);
    else void call();
  };

  return (
    <div class="grid">
      <Panel
        title={tool.title}
        class="half"
        aside={
          <Choice
            label="How to enter the arguments"
            options={[
              { value: "form", text: "Form" },
              { value: "json", text: "JSON" },
            ]}
            chosen={mode}
            onChoose={change}
          />
        }
      >
        <p class="tool-text">
          <EffectBadge effect={tool.effect} /> {tool.description}
        </p>
        <form onSubmit={submit} noValidate>
          {mode === "json" ? (
            <FieldInput label="Arguments (JSON)" error={parsedRaw.problem}>
              {(ids) => <textarea {...ids} class="mono" rows={14} spellcheck={false} value={raw} onInput={(event) => setRaw(event.currentTarget.value)} />}
            </FieldInput>
          ) : parameters.length === 0 ? (
            <p class="muted">It takes no arguments.</p>
          ) : (
            parameters.map((parameter) => (
              <ParameterField
                key={parameter.name}
                parameter={parameter}
                value={entered[parameter.name] ?? ""}
                error={touched || (entered[parameter.name] ?? "") !== "" ? form.problems[parameter.name] : undefined}
                onChange={(value) => setEntered({ ...entered, [parameter.name]: value })}
              />
            ))
          )}
          <button type="submit" class="button primary" aria-disabled={busy}>
            {busy ? "Calling…" : `Call ${tool.name}`}
          </button>
        </form>
      </Panel>
      <Panel title="Answer" class="half" aside={outcome !== undefined && durationText(outcome.tookMs)}>
        <div role="status">
          {outcome === undefined ? (
            <Empty title="Not called yet">The tool's answer, or its error, appears here.</Empty>
          ) : outcome.error !== undefined ? (
            <div class="banner bad">
              <div>
                <strong class="mono">{outcome.error.code}</strong> <span>{outcome.error.message}</span> {outcome.error.hint !== undefined && <p>{outcome.error.hint}</p>}
                {outcome.error.details !== undefined && <JsonView value={outcome.error.details} label="Details of the error" />}
              </div>
            </div>
          ) : (
            <JsonView value={outcome.answer} label="Answer of the tool" />
          )}
        </div>
      </Panel>
      {asking && (
        <Confirm title={`Call ${tool.name}?`} action={`Call ${tool.name}`} danger act={call} onClose={() => setAsking(false)}>
          <p>{tool.title}: this tool removes data. It is called with:</p>
          <JsonView value={args} label="Arguments" />
        </Confirm>
      )}
    </div>
  );
}

function parseObject(text: string): { readonly value?: Record<string, unknown>; readonly problem?: string } {
  try {
    const value: unknown = JSON.parse(text.trim() === "" ? "{}" : text);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return { problem: "The arguments are one JSON object." };
    return { value: value as Record<string, unknown> };
  } catch (error) {
    return { problem: `This is not JSON: ${error instanceof Error ? error.message : "it cannot be read"}.` };
  }
}

interface ParameterFieldProps {
  readonly parameter: FormField;
  readonly value: string;
  readonly error?: string;
  onChange(value: string): void;
}

function ParameterField({ parameter: { name, required, kind, choices, hint, example }, value, error, onChange }: ParameterFieldProps) {
  const placeholder = example === undefined ? undefined : `for example ${example}`;
  return (
    <FieldInput label={required ? `${name} (required)` : name} hint={hint === "" ? undefined : hint} error={error}>
      {(ids) => {
        if (kind === "choice" || kind === "boolean")
          return (
            <select {...ids} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
              <option value="">(left out)</option>
              {(choices ?? ["true", "false"]).map((choice) => (
                <option key={choice} value={choice}>
                  {choice}
                </option>
              ))}
            </select>
          );
        if (kind === "json" || kind === "texts" || name === "content" || name === "description")
          return (
            <textarea
              {...ids}
              class={kind === "json" ? "mono" : undefined}
              rows={kind === "json" ? 4 : 3}
              placeholder={kind === "texts" ? undefined : placeholder}
              spellcheck={kind !== "json"}
              value={value}
              onInput={(event) => onChange(event.currentTarget.value)}
            />
          );
        return (
          <input
            {...ids}
            type="text"
            placeholder={placeholder}
            inputMode={kind === "number" ? "decimal" : undefined}
            spellcheck={false}
            autocapitalize="off"
            value={value}
            onInput={(event) => onChange(event.currentTarget.value)}
          />
        );
      }}
    </FieldInput>
  );
}
