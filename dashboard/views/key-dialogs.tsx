import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { KeyView } from "../../src/surfaces/dashboard/api.ts";
import { callTool } from "../data/api-client.ts";
import { serverNowMs } from "../data/server-clock.ts";
import { Confirm } from "../parts/dialog.tsx";
import { DiffView } from "../parts/diff-view.tsx";
import { FieldInput } from "../parts/field.tsx";
import { prettyJson } from "../parts/json-view.tsx";
import { announce } from "../parts/notice.tsx";
import { Name } from "../parts/stored-text.tsx";
import { plain } from "../parts/unseen.ts";
import { hrefOf, navigate } from "../router.ts";
import { useView } from "../view-context.ts";

type Lifetime = "keep" | "never" | "seconds";

function parseJson(text: string): { readonly value: unknown } | { readonly problem: string } {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { problem: `This is not JSON: ${error instanceof Error ? error.message : "it cannot be read"}. A text needs quotation marks around it.` };
  }
}

/** Writes a key only if it is still at the version shown; without `entry`, creates a key. */
export function EditKeyDialog({ entry, prefix = "", onClose }: { readonly entry?: KeyView; readonly prefix?: string; onClose(): void }) {
  const { namespace } = useView();
  const [key, setKey] = useState(entry?.key ?? prefix);
  const [text, setText] = useState(entry === undefined ? "" : prettyJson(entry.value));
  const [lifetime, setLifetime] = useState<Lifetime>(entry?.expiresAtMs === undefined ? "never" : "keep");
  const [seconds, setSeconds] = useState("3600");
  // The version the edit is based on; after a conflict, the version that won.
  const [based, setBased] = useState({ version: entry?.version ?? 0, value: entry?.value });
  const parsed = parseJson(text);
  const problem = text !== "" && "problem" in parsed ? parsed.problem : undefined;
  const ttlProblem = lifetime === "seconds" && !(Number(seconds) > 0) ? "A number of seconds above 0" : undefined;
  const needs =
    key === ""
      ? "A name for the key is still missing."
      : text === ""
        ? "A value is still missing."
        : problem !== undefined
          ? "The value is not JSON yet."
          : ttlProblem !== undefined
            ? "The number of seconds is not right yet."
            : undefined;

  const act = async (): Promise<ComponentChildren | undefined> => {
    if ("problem" in parsed) return parsed.problem;
    const leftSeconds = entry?.expiresAtMs === undefined ? undefined : Math.max(0.001, (entry.expiresAtMs - serverNowMs()) / 1_000);
    const ttl = lifetime === "never" ? undefined : lifetime === "keep" ? leftSeconds : Number(seconds);
    const answer = await callTool(namespace, "state_set", { key, value: parsed.value, expected_version: based.version, ...(ttl === undefined ? {} : { ttl_seconds: ttl }) });
    if (answer.ok === true) {
      announce(`${key} is now at version ${answer.version}.`);
      if (entry === undefined) navigate(hrefOf(namespace, "keys", key));
      return undefined;
    }
    const current = answer.current as { readonly value: unknown; readonly version: number; readonly updated_by: string } | null | undefined;
    const before = based;
    setBased({ version: current?.version ?? 0, value: current?.value });
    if (current === null || current === undefined)
      return before.version === 0
        ? "It could not be created."
        : "The key was deleted or has expired in the meantime, so nothing was written. Save again to create it with your value.";
    return (
      <>
        <p>
          Meanwhile <Name text={current.updated_by} mono={false} /> wrote version {current.version}, so nothing was written. This is what changed there:
        </p>
        <DiffView before={before.version === 0 ? "" : prettyJson(before.value)} after={prettyJson(current.value)} label="What changed meanwhile" />
        <p>Copy what should stay into your text, then save again: your text replaces version {current.version}.</p>
      </>
    );
  };

  return (
    <Confirm
      title={entry === undefined ? "New key" : "Edit this key"}
      action={entry === undefined ? "Create the key" : "Save the value"}
      dismiss={entry === undefined ? "Cancel" : "Close without saving"}
      wide
      needs={needs}
      act={act}
      onClose={onClose}
    >
      {entry === undefined ? (
        <FieldInput label="Key" hint="Parts separated by / can be browsed like folders.">
          {(ids) => <input {...ids} type="text" class="mono" spellcheck={false} autocapitalize="off" value={key} onInput={(event) => setKey(event.currentTarget.value)} />}
        </FieldInput>
      ) : (
        <p>
          <Name text={key} /> is at version {based.version}. Saving makes the next one, under your name; if another writer is first, nothing is changed and you are shown what they
          wrote.
        </p>
      )}
      <FieldInput label="Value (JSON)" error={problem}>
        {(ids) => <textarea {...ids} class="mono" rows={12} spellcheck={false} value={text} onInput={(event) => setText(event.currentTarget.value)} />}
      </FieldInput>
      <div class="row">
        <FieldInput label="Expires">
          {(ids) => (
            <select {...ids} value={lifetime} onChange={(event) => setLifetime(event.currentTarget.value as Lifetime)}>
              {entry?.expiresAtMs !== undefined && <option value="keep">as before</option>}
              <option value="never">never</option>
              <option value="seconds">after some seconds</option>
            </select>
          )}
        </FieldInput>
        {lifetime === "seconds" && (
          <FieldInput label="Seconds" error={ttlProblem}>
            {(ids) => <input {...ids} type="text" inputMode="decimal" value={seconds} onInput={(event) => setSeconds(event.currentTarget.value)} />}
          </FieldInput>
        )}
      </div>
    </Confirm>
  );
}

export function DeleteKeyDialog({ entry, onClose }: { readonly entry: KeyView; onClose(): void }) {
  const { namespace } = useView();
  const [version, setVersion] = useState(entry.version);
  const act = async (): Promise<ComponentChildren | undefined> => {
    const answer = await callTool(namespace, "state_delete", { key: entry.key, expected_version: version });
    if (answer.ok === true || answer.reason === "not_found") {
      announce(answer.ok === true ? `${entry.key} was deleted.` : `${entry.key} was already gone.`);
      return undefined;
    }
    const current = answer.current as { readonly version: number; readonly updated_by: string } | null | undefined;
    if (current === null || current === undefined) return "The key has been deleted or has expired; there is nothing left to delete.";
    setVersion(current.version);
    return `Meanwhile ${plain(current.updated_by)} wrote version ${current.version}, so nothing was deleted. Look at it first; deleting now removes that version.`;
  };
  return (
    <Confirm title="Delete this key?" action="Delete the key" danger act={act} onClose={onClose}>
      <p>
        <Name text={entry.key} /> is removed at version {version}, and agents that read it find nothing. Its past stays in history, as far as history is kept.
      </p>
    </Confirm>
  );
}
