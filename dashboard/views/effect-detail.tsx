import { useState } from "preact/hooks";
import type { EffectResolution, EffectRow, EffectShown } from "../../src/surfaces/dashboard/api.ts";
import { ApiFailure, queryText, requestApi } from "../data/api-client.ts";
import { useQuery } from "../data/use-query.ts";
import { EffectStateBadge } from "../parts/badge.tsx";
import { Choice } from "../parts/choice.tsx";
import { Confirm } from "../parts/dialog.tsx";
import { FieldInput } from "../parts/field.tsx";
import { Icon } from "../parts/icon.tsx";
import { JsonView } from "../parts/json-view.tsx";
import { announce } from "../parts/notice.tsx";
import { FactList, PageHead, Panel } from "../parts/panel.tsx";
import { AnswerPanel } from "../parts/state-panels.tsx";
import { Name } from "../parts/stored-text.tsx";
import { Ago, Countdown } from "../parts/time.tsx";
import { hrefOf } from "../router.ts";
import { useView } from "../view-context.ts";

export const effectTitle = ({ name, tool }: Pick<EffectRow, "name" | "tool">): string => name ?? tool;

export function EffectDetailView({ id }: { readonly id: string }) {
  const { api, namespace, canWrite } = useView();
  const [resolving, setResolving] = useState(false);
  // Nothing is written at the moment an owner is lost.
  const query = useQuery<EffectShown>(`${api}/effect${queryText({ id })}`, ({ kind, subject }) => kind === "effect" && subject === id, 5_000);
  const effect = query.data?.effect;
  return (
    <>
      <PageHead
        back={{ href: hrefOf(namespace, "effects"), text: "Effects" }}
        title={<Name text={effect === undefined ? id : effectTitle(effect)} mono={false} />}
        actions={
          canWrite &&
          effect?.state === "unknown" && (
            <button type="button" class="button" onClick={() => setResolving(true)}>
              <Icon name="check" /> Resolve
            </button>
          )
        }
      />
      <AnswerPanel query={query} what="the effect">
        {(shown) => <EffectFacts shown={shown} />}
      </AnswerPanel>
      {effect !== undefined && resolving && <ResolveDialog effect={effect} onClose={() => setResolving(false)} />}
    </>
  );
}

function EffectFacts({ shown: { effect, answer, answerKept } }: { readonly shown: EffectShown }) {
  const { namespace } = useView();
  return (
    <>
      <FactList
        facts={[
          ["State", <EffectStateBadge key="state" state={effect.state} />],
          ["Id", <Name key="id" text={effect.id} />],
          ["Tool", <Name key="tool" text={effect.tool} />],
          [
            "Run",
            effect.run === undefined ? undefined : (
              <a key="run" href={hrefOf(namespace, "runs", effect.run)}>
                <Name text={effect.run} />
              </a>
            ),
          ],
          ["Step", effect.step],
          ["Agent", <Name key="agent" text={effect.agent ?? effect.writer} mono={false} />],
          ["Tries", effect.attempts],
          ["Begun", <Ago key="begun" at={effect.begunAtMs} />],
          ["Owner counts as lost", effect.liveUntilMs === undefined ? undefined : <Countdown key="live" until={effect.liveUntilMs} />],
          ["Ended", effect.endedAtMs === undefined ? undefined : <Ago key="ended" at={effect.endedAtMs} />],
          ["Resolved by", effect.resolved === undefined ? undefined : effect.resolved === "policy" ? "a policy" : <Name key="by" text={effect.writer} mono={false} />],
          ["Reason", effect.reason === undefined ? undefined : <Name key="reason" text={effect.reason} mono={false} />],
        ]}
      />
      {effect.state === "unknown" && (
        <p class="banner warn" role="status">
          <span>
            <strong>Unknown:</strong> it was begun <Ago at={effect.begunAtMs} />, and it is not known whether it took place. It is not repeated until you resolve it.
          </span>
        </p>
      )}
      <Panel title="Arguments">
        <JsonView value={effectArguments(effect.args)} label="Arguments of the effect" />
      </Panel>
      {answer !== undefined && (
        <Panel title={effect.state === "failed" ? "Error" : "Answer"} class={effect.state === "failed" ? "bad" : undefined}>
          {answerKept === false && <p class="muted">The answer could not be stored.</p>}
          <JsonView value={answer} label="Answer to the effect" />
        </Panel>
      )}
    </>
  );
}

/** Long ones are cut, and then shown as the text that they are. */
function effectArguments(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

type Word = "done" | "failed";
const words: readonly { readonly value: Word; readonly text: string }[] = [
  { value: "done", text: "It took place" },
  { value: "failed", text: "It did not" },
];

export function ResolveDialog({ effect, onClose }: { readonly effect: Pick<EffectRow, "id" | "name" | "tool" | "token">; onClose(): void }) {
  const { api } = useView();
  const [as, setAs] = useState<Word>("done");
  const [reason, setReason] = useState("");
  const title = effectTitle(effect);
  const act = async () => {
    try {
      await requestApi<EffectResolution>(`${api}/effects/resolve`, {
        method: "POST",
        body: { id: effect.id, as, token: effect.token, ...(reason.trim() === "" ? {} : { reason: reason.trim() }) },
      });
    } catch (error) {
      if (error instanceof ApiFailure && error.status === 409) return "It has changed since it was shown, so nothing was changed. Close this dialog to see the current state.";
      throw error;
    }
    announce(`${title} is resolved as ${as}.`);
    return undefined;
  };
  return (
    <Confirm title="Resolve this effect?" action={as === "done" ? "It took place" : "It did not take place"} danger={as === "failed"} act={act} onClose={onClose}>
      <p>
        Look where <Name text={title} mono={false} /> would show: at the bank, in the outbox, in the ticket system. Then record what happened.
      </p>
      <Choice<Word> label="What happened" options={words} chosen={as} onChoose={(word) => setAs(word)} />
      <p class="muted">{as === "done" ? "Agents that request it again get the answer that it is done." : "Agents may do it again. If it did take place, it will happen twice."}</p>
      <FieldInput label="How you found out" hint="Kept with the record.">
        {(ids) => <input {...ids} type="text" maxLength={1_000} value={reason} onInput={(event) => setReason(event.currentTarget.value)} />}
      </FieldInput>
    </Confirm>
  );
}
