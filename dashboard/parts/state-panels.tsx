import type { ComponentChildren } from "preact";
import { useContext } from "preact/hooks";
import type { ApiFailure } from "../data/api-client.ts";
import { hrefOf } from "../router.ts";
import type { ViewContext } from "../view-context.ts";
import { CurrentView } from "../view-context.ts";
import { Icon } from "./icon.tsx";
import { Name } from "./stored-text.tsx";

/** An empty state: describes what will be listed here and how it is created. */
export function Empty({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <div class="state-panel">
      <p class="state-title">{title}</p>
      {children !== undefined && <p>{children}</p>}
    </div>
  );
}

export function Failed({ error, onRetry }: { readonly error: ApiFailure; onRetry?(): void }) {
  const view = useContext(CurrentView);
  if (error.code === "not_found") return <Empty title={error.message}>It may have been removed, or kept for a limited time only; or something is wrong with the address.</Empty>;
  if (error.code === "forbidden" && view !== undefined && !view.me.namespaces.includes(view.namespace)) return <Elsewhere {...view} />;
  return (
    <div class="state-panel failed" role="alert">
      <p class="state-title">
        <Icon name="warning" /> {error.message}
      </p>
      {error.advice !== undefined && <p>{error.advice}</p>}
      {/* Retrying an invalid request does not help. */}
      {onRetry !== undefined && error.code !== "invalid_input" && (
        <button type="button" class="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

const namespacesShown = 8;

/** Retrying a forbidden namespace does not help; a list of the allowed ones does. */
function Elsewhere({ me, namespace }: ViewContext) {
  return (
    <div class="state-panel" role="alert">
      <p class="state-title">
        You cannot access <Name text={namespace} />
      </p>
      <p>Your credential does not include this namespace, whether it exists or not; an administrator can add it. You can access these:</p>
      <p class="chips">
        {me.namespaces.slice(0, namespacesShown).map((name) => (
          <a key={name} class="chip" href={hrefOf(name, "overview")}>
            <Name text={name} />
          </a>
        ))}
        {me.namespaces.length > namespacesShown && <span class="muted">and more, in the menu</span>}
      </p>
    </div>
  );
}

/** Placeholder lines; announced to screen readers once. Shown after a delay, so that a fast response causes no flicker. */
export function Loading({ what, lines = 6 }: { readonly what: string; readonly lines?: number }) {
  return (
    <div class="loading" role="status" aria-label={`Loading ${what}`}>
      {Array.from({ length: lines }, (_, line) => (
        <div key={line} class="loading-line" />
      ))}
    </div>
  );
}

/** Earlier data stays on the page; the banner above it says that it could not be refreshed. */
export function Outdated({ error, onRetry }: { readonly error: ApiFailure; onRetry(): void }) {
  return (
    <div class="banner warn" role="status">
      <span>
        What you see may be outdated: {error.message} {error.advice}
      </span>
      <button type="button" class="button small" onClick={onRetry}>
        Try again
      </button>
    </div>
  );
}

interface Shown<T> {
  readonly data?: T;
  readonly error?: ApiFailure;
  readonly loading: boolean;
  reload(): void;
}

/** The three states of any read. */
export function AnswerPanel<T>({
  query,
  what,
  lines,
  children,
}: {
  readonly query: Shown<T>;
  readonly what: string;
  readonly lines?: number;
  children(data: T): ComponentChildren;
}) {
  if (query.data === undefined) return query.error === undefined ? <Loading what={what} lines={lines} /> : <Failed error={query.error} onRetry={query.reload} />;
  return (
    <>
      {query.error !== undefined && <Outdated error={query.error} onRetry={query.reload} />}
      {children(query.data)}
    </>
  );
}

interface ShownRows {
  readonly rows: readonly unknown[];
  readonly error?: ApiFailure;
  readonly loading: boolean;
  reload(): void;
}

/** The states of a list: loading, failed, empty, outdated, loaded. */
export function Listing({
  pages,
  what,
  empty,
  children,
}: {
  readonly pages: ShownRows;
  readonly what: string;
  readonly empty: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  if (pages.loading) return <Loading what={what} />;
  if (pages.rows.length === 0) return pages.error === undefined ? empty : <Failed error={pages.error} onRetry={pages.reload} />;
  return (
    <>
      {pages.error !== undefined && <Outdated error={pages.error} onRetry={pages.reload} />}
      {children}
    </>
  );
}
