import { useEffect, useState } from "preact/hooks";
import type { KeyView, VersionView } from "../../src/surfaces/dashboard/api.ts";
import { asFailure, callTool, queryText, requestApi } from "../data/api-client.ts";
import { useQuery } from "../data/use-query.ts";
import { Who } from "../parts/activity-line.tsx";
import { formatBytes } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { JsonView, prettyJson } from "../parts/json-view.tsx";
import { announce } from "../parts/notice.tsx";
import { FactList, PageHead, Panel } from "../parts/panel.tsx";
import { AnswerPanel, Empty } from "../parts/state-panels.tsx";
import { Name } from "../parts/stored-text.tsx";
import { Ago, Countdown } from "../parts/time.tsx";
import { Versions } from "../parts/versions.tsx";
import { hrefOf } from "../router.ts";
import { useView } from "../view-context.ts";
import { DeleteKeyDialog, EditKeyDialog } from "./key-dialogs.tsx";

export function KeyDetailView({ name }: { readonly name: string }) {
  const { api, namespace, canWrite } = useView();
  const [action, setAction] = useState<"edit" | "delete">();
  // The dialog keeps its initial data while the page behind it updates.
  const [opened, setOpened] = useState<KeyView>();
  const query = useQuery<KeyView>(`${api}/key${queryText({ key: name })}`, ({ kind, subject }) => kind === "state" && subject === name);
  const entry = query.data;
  const open = (what: "edit" | "delete"): void => {
    setOpened(entry);
    setAction(what);
  };
  const folder = name.slice(0, name.lastIndexOf("/") + 1);
  return (
    <>
      <PageHead
        back={{ href: hrefOf(namespace, "keys", undefined, { prefix: folder }), text: folder === "" ? "Keys" : folder }}
        title={<Name text={name} />}
        actions={
          canWrite &&
          entry !== undefined && (
            <>
              <button type="button" class="button" onClick={() => open("edit")}>
                <Icon name="edit" /> {entry.found ? "Edit" : "Write again"}
              </button>
              {entry.found && (
                <button type="button" class="button danger-text" onClick={() => open("delete")}>
                  <Icon name="trash" /> Delete
                </button>
              )}
            </>
          )
        }
      />
      <AnswerPanel query={query} what="the key">
        {(found) => <Detail entry={found} />}
      </AnswerPanel>
      {opened !== undefined && action === "edit" && (
        <EditKeyDialog entry={opened.found ? opened : { ...opened, version: 0, value: undefined }} onClose={() => setAction(undefined)} />
      )}
      {opened !== undefined && action === "delete" && <DeleteKeyDialog entry={opened} onClose={() => setAction(undefined)} />}
    </>
  );
}

function Detail({ entry }: { readonly entry: KeyView }) {
  const { api, namespace } = useView();
  const [older, setOlder] = useState<{ readonly versions: readonly VersionView[]; readonly more: boolean }>();
  const [values, setValues] = useState<ReadonlyMap<number, unknown>>(new Map());
  useEffect(() => {
    setOlder(undefined);
    setValues(new Map());
  }, [entry.key]);
  const all = [...entry.versions, ...(older?.versions.filter(({ revision }) => revision < (entry.versions.at(-1)?.revision ?? 0)) ?? [])];
  const versions = all.map((version) => (values.has(version.version) ? { ...version, value: values.get(version.version), omitted: false } : version));
  const told = (error: unknown): void => announce(`The value could not be read: ${asFailure(error).message}`);
  const readOlder = async () => {
    const page = await requestApi<KeyView>(`${api}/key${queryText({ key: entry.key, before: versions.at(-1)?.revision })}`);
    setOlder({ versions: [...(older?.versions ?? []), ...page.versions], more: page.more });
  };
  const fetchValue = async ({ version }: VersionView) => {
    const answer = await callTool(namespace, "state_get", { key: entry.key, version });
    setValues((before) => new Map(before).set(version, answer.value));
  };
  return (
    <>
      <FactList
        facts={[
          ["Version", entry.found ? entry.version : undefined],
          ["Changed", entry.updatedAtMs === undefined ? undefined : <Ago key="changed" at={entry.updatedAtMs} />],
          ["By", entry.writer === undefined ? undefined : <Who key="by" agent={entry.agent} writer={entry.writer} />],
          ["Expires", !entry.found ? undefined : entry.expiresAtMs === undefined ? "never" : <Countdown key="expires" until={entry.expiresAtMs} over="expired" />],
          ["Size", entry.found ? formatBytes(new Blob([JSON.stringify(entry.value)]).size) : undefined],
        ]}
      />
      <Panel title="Value">
        {entry.found ? (
          <JsonView value={entry.value} label="Value of the key" />
        ) : (
          <Empty title="There is no such key now">
            {versions.length > 0 ? "It was deleted or has expired; its past is below." : "It may never have been written, or its past is no longer kept."}
          </Empty>
        )}
      </Panel>
      <Versions
        versions={versions}
        more={older?.more ?? entry.more}
        onMore={() => void readOlder().catch(told)}
        textOf={prettyJson}
        whole={({ value, version }) => <JsonView value={value} label={`Value of version ${version}`} />}
        fetchValue={(version) => void fetchValue(version).catch(told)}
      />
    </>
  );
}
