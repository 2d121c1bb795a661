import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { VersionView } from "../../src/surfaces/dashboard/api.ts";
import { useCell } from "../cell.ts";
import { route } from "../router.ts";
import { Who } from "./activity-line.tsx";
import { Choice } from "./choice.tsx";
import { DiffView } from "./diff-view.tsx";
import { Icon } from "./icon.tsx";
import { Panel } from "./panel.tsx";
import { Empty } from "./state-panels.tsx";
import { Ago } from "./time.tsx";

interface VersionsProps {
  /** Newest first. */
  readonly versions: readonly VersionView[];
  readonly more: boolean;
  onMore?(): void;
  /** The text that is compared. */
  textOf(value: unknown): string;
  whole(version: VersionView): ComponentChildren;
  /** Reads a value that was too large to be included. */
  fetchValue?(version: VersionView): void;
}

/** Steps through an item's versions, each compared with the one before it. */
export function Versions({ versions, more, onMore, textOf, whole, fetchValue }: VersionsProps) {
  const asked = Number.parseInt(useCell(route).query.get("revision") ?? "", 10);
  const [chosen, setChosen] = useState(Number.isNaN(asked) ? undefined : asked);
  const [shows, setShows] = useState<"changes" | "whole">("changes");
  const found = versions.findIndex(({ revision }) => revision === chosen);
  const index = Math.max(0, found);
  const version = versions[index];
  const before = versions[index + 1];
  if (version === undefined) return <Empty title="No earlier versions">They are no longer kept, or this was never written.</Empty>;
  const step = (by: number): void => setChosen(versions[Math.min(versions.length - 1, Math.max(0, index + by))]?.revision);
  const wantsValue = version.omitted === true || (shows === "changes" && before?.omitted === true);
  return (
    <Panel
      title="Versions"
      aside={
        <Choice<"changes" | "whole">
          label="What to show of a version"
          options={[
            { value: "changes", text: "Changes" },
            { value: "whole", text: "Whole" },
          ]}
          chosen={shows}
          onChoose={setShows}
        />
      }
    >
      <div class="versions">
        <ol class="version-list" aria-label="Versions, newest first">
          {versions.map((each, at) => (
            <li key={`${each.revision} ${each.operation}`}>
              <button
                type="button"
                class="version"
                aria-current={at === index ? "true" : undefined}
                onClick={() => setChosen(each.revision)}
                onKeyDown={(event) => {
                  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
                  event.preventDefault();
                  const item = event.currentTarget.parentElement;
                  const next = (event.key === "ArrowDown" ? item?.nextElementSibling : item?.previousElementSibling)?.querySelector("button");
                  next?.focus();
                  next?.click();
                }}
              >
                <span class="version-number">v{each.version}</span>
                <span class="version-what">
                  {each.operation} by <Who agent={each.agent} writer={each.writer} />
                </span>
                <Ago at={each.atMs} />
              </button>
            </li>
          ))}
          {more && (
            <li>
              {onMore === undefined ? (
                <p class="muted">Older ones are not shown.</p>
              ) : (
                <button type="button" class="button small" onClick={onMore}>
                  Older versions
                </button>
              )}
            </li>
          )}
        </ol>
        <div class="version-detail">
          <div class="version-steps">
            <button type="button" class="button small" aria-disabled={index === versions.length - 1} onClick={() => step(1)}>
              <Icon name="back" /> Older
            </button>
            <span role="status">
              {version.operation === "set" ? `Version ${version.version}` : `It ${version.operation === "expired" ? "expired" : "was deleted"}`}
              {version.operation !== "set" && before !== undefined && <span class="muted">; its last value was version {before.version}</span>}
              {version.operation === "set" && shows === "changes" && before !== undefined && <span class="muted"> compared with {before.version}</span>}
            </span>
            <button type="button" class="button small" aria-disabled={index === 0} onClick={() => step(-1)}>
              Newer <Icon name="forward" />
            </button>
          </div>
          {wantsValue ? (
            <Empty title="This value is large">
              <button type="button" class="button" onClick={() => [version, before].forEach((each) => each?.omitted === true && fetchValue?.(each))}>
                Read it
              </button>
            </Empty>
          ) : shows === "whole" || version.value === undefined ? (
            version.value === undefined ? (
              <Empty title="There is no value">{version.operation === "set" ? "It is no longer kept." : "Earlier versions have values."}</Empty>
            ) : (
              whole(version)
            )
          ) : (
            <DiffView
              before={before?.value === undefined ? "" : textOf(before.value)}
              after={textOf(version.value)}
              label={`Version ${version.version} compared with the one before`}
            />
          )}
        </div>
      </div>
    </Panel>
  );
}
