import type { ComponentChildren, JSX } from "preact";
import { useEffect, useErrorBoundary, useRef, useState } from "preact/hooks";
import type { Me } from "../src/surfaces/dashboard/api.ts";
import { useCell } from "./cell.ts";
import { signedOut } from "./data/credential.ts";
import { follow } from "./data/live.ts";
import { session, startSession } from "./data/session.ts";
import { Notices } from "./parts/notice.tsx";
import { Empty, Failed, Loading } from "./parts/state-panels.tsx";
import { plain } from "./parts/unseen.ts";
import type { PageRoute } from "./router.ts";
import { hrefOf, navigate, route } from "./router.ts";
import { Shell } from "./shell.tsx";
import { CurrentView } from "./view-context.ts";
import { ActivityView } from "./views/activity.tsx";
import { EffectDetailView } from "./views/effect-detail.tsx";
import { EffectsView } from "./views/effects.tsx";
import { HealthView } from "./views/health.tsx";
import { JournalEntryView, JournalView } from "./views/journal.tsx";
import { KeyDetailView } from "./views/key-detail.tsx";
import { KeysView } from "./views/keys.tsx";
import { KnowledgeView } from "./views/knowledge.tsx";
import { LeasesView } from "./views/leases.tsx";
import { NoteDetailView } from "./views/note-detail.tsx";
import { OverviewView } from "./views/overview.tsx";
import { ResearchDetailView, ResearchView } from "./views/research.tsx";
import { RunDetailView } from "./views/run-detail.tsx";
import { RunsView } from "./views/runs.tsx";
import { SearchView } from "./views/search.tsx";
import { SignInView } from "./views/sign-in.tsx";
import { TokensView } from "./views/tokens.tsx";
import { TryItView } from "./views/try-it.tsx";

export function App() {
  const out = useCell(signedOut);
  const { me, error } = useCell(session);
  if (out !== undefined) return <SignInView />;
  if (error !== undefined)
    return (
      <main class="alone">
        <Failed error={error} onRetry={() => void startSession()} />
      </main>
    );
  if (me === undefined)
    return (
      <main class="alone">
        <Loading what="the dashboard" />
      </main>
    );
  return <SignedIn me={me} />;
}

function SignedIn({ me }: { readonly me: Me }) {
  const here = useCell(route);
  // Tokens belong to no namespace, so the last namespace stays selected.
  const last = useRef(me.defaultNamespace);
  const namespace = here.namespace ?? last.current;
  last.current = namespace;
  useEffect(() => follow(namespace), [namespace]);
  useEffect(() => {
    if (here.view === "home") navigate(hrefOf(me.defaultNamespace, "overview"), { replace: true });
  }, [here.view]);
  useViewOpened(here, namespace);
  return (
    <CurrentView.Provider value={{ me, namespace }}>
      <Shell here={here}>
        <Guarded key={`${namespace} ${here.view} ${here.id}`}>{viewOf(here, me)}</Guarded>
      </Shell>
      <Notices />
    </CurrentView.Provider>
  );
}

/** `JSX.Element` instead of `ComponentChildren`, which includes undefined: a view without a case must not compile. */
function viewOf({ view, id }: PageRoute, me: Me): JSX.Element {
  switch (view) {
    case "home":
    case "overview":
      return <OverviewView />;
    case "runs":
      return id === undefined ? <RunsView /> : <RunDetailView runId={id} />;
    case "leases":
      return <LeasesView />;
    case "effects":
      return id === undefined ? <EffectsView /> : <EffectDetailView id={id} />;
    case "keys":
      return id === undefined ? <KeysView /> : <KeyDetailView name={id} />;
    case "journal":
      return id === undefined ? <JournalView /> : <JournalEntryView id={id} />;
    case "knowledge":
      return id === undefined ? <KnowledgeView /> : <NoteDetailView name={id} />;
    case "research":
      return id === undefined ? <ResearchView /> : <ResearchDetailView id={id} />;
    case "activity":
      return <ActivityView />;
    case "search":
      return <SearchView />;
    case "try":
      return <TryItView name={id} />;
    case "tokens":
      return <TokensView me={me} />;
    case "health":
      return <HealthView />;
    case "unknown":
      return (
        <>
          <h1 tabIndex={-1}>Nothing here</h1>
          <Empty title="There is no page at this address">
            <a href="/">Go to the overview</a>
          </Empty>
        </>
      );
  }
}

/** Sets the window's title to the view's, and focuses the view's heading when it is opened from another view. */
function useViewOpened({ view, id }: PageRoute, namespace: string): void {
  const first = useRef(true);
  useEffect(() => {
    const title = view === "try" ? "Try it" : view.charAt(0).toUpperCase() + view.slice(1);
    document.title = `${id === undefined ? title : plain(id.slice(0, 80))} · ${plain(namespace)} · Holdfast`;
    if (first.current) {
      first.current = false;
      return;
    }
    const focused = document.activeElement;
    // The search boxes keep the focus: the user may be typing.
    if (!(focused instanceof HTMLInputElement)) document.querySelector<HTMLElement>("main h1")?.focus({ preventScroll: true });
  }, [view, id, namespace]);
}

/** An error in one view must not remove the navigation. */
function Guarded({ children }: { readonly children: ComponentChildren }) {
  const [error, reset] = useErrorBoundary();
  const [tries, setTries] = useState(0);
  if (error === undefined) return <>{children}</>;
  return (
    <div class="state-panel failed" role="alert">
      <p class="state-title">This view failed.</p>
      <p class="mono">{error instanceof Error ? error.message : "The error has no message."}</p>
      <button
        type="button"
        class="button"
        onClick={() => {
          setTries(tries + 1);
          reset();
        }}
      >
        Draw it again
      </button>
    </div>
  );
}
