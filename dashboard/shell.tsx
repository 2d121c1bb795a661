import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useCell } from "./cell.ts";
import { readToken } from "./data/credential.ts";
import { connection, tryNow } from "./data/live.ts";
import { refreshSession, signOut } from "./data/session.ts";
import { setTheme, theme, themes } from "./data/theme.ts";
import { RoleBadge } from "./parts/badge.tsx";
import type { IconName } from "./parts/icon.tsx";
import { Icon } from "./parts/icon.tsx";
import { Mark } from "./parts/mark.tsx";
import { Name } from "./parts/stored-text.tsx";
import { useTicking } from "./parts/time.tsx";
import { plain } from "./parts/unseen.ts";
import type { NamespaceView, PageRoute } from "./router.ts";
import { hrefOf, navigate } from "./router.ts";
import { Shortcuts, searchBoxMark } from "./shortcuts.tsx";
import { useView } from "./view-context.ts";

const groups = ["Now", "Memory", "Tools", "Server"] as const;

/** The menu, in order; research is a tab of knowledge. A record, so that a view without an entry does not compile. */
const entries: Readonly<Record<Exclude<NamespaceView, "research"> | "tokens", readonly [group: (typeof groups)[number], text: string, icon: IconName]>> = {
  overview: ["Now", "Overview", "overview"],
  runs: ["Now", "Runs", "runs"],
  leases: ["Now", "Leases", "leases"],
  effects: ["Now", "Effects", "effects"],
  keys: ["Memory", "Keys", "keys"],
  journal: ["Memory", "Journal", "journal"],
  knowledge: ["Memory", "Knowledge", "knowledge"],
  activity: ["Memory", "Activity", "activity"],
  search: ["Tools", "Search", "search"],
  try: ["Tools", "Try it", "try"],
  tokens: ["Server", "Tokens", "tokens"],
  health: ["Server", "Health", "health"],
};

/** The frame around every view. */
export function Shell({ here, children }: { readonly here: PageRoute; readonly children: ComponentChildren }) {
  const { namespace } = useView();
  const [menu, setMenu] = useState(false);
  useEffect(() => setMenu(false), [here]);
  useEffect(() => {
    if (!menu) return;
    const close = (event: KeyboardEvent) => event.key === "Escape" && setMenu(false);
    addEventListener("keydown", close);
    return () => removeEventListener("keydown", close);
  }, [menu]);
  return (
    <div class={menu ? "shell menu-open" : "shell"}>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="bar">
        <button type="button" class="button quiet icon-only menu-button" aria-label="Menu" aria-expanded={menu} aria-controls="menu" onClick={() => setMenu(!menu)}>
          <Icon name={menu ? "close" : "menu"} />
        </button>
        <SearchBox here={here} />
        <ConnectionState />
      </header>
      <aside class="side" id="menu" aria-label="Menu">
        <Brand />
        <NamespaceSwitch here={here} />
        <Navigation here={here} />
        <Person />
      </aside>
      {menu && <div class="shade" onClick={() => setMenu(false)} aria-hidden="true" />}
      <main id="main" tabIndex={-1}>
        {children}
      </main>
      <Shortcuts namespace={namespace} />
    </div>
  );
}

function Brand() {
  const { namespace } = useView();
  return (
    <a class="brand" href={hrefOf(namespace, "overview")}>
      <Mark />
      <span>Holdfast</span>
    </a>
  );
}

function NamespaceSwitch({ here }: { readonly here: PageRoute }) {
  const { me, namespace } = useView();
  // If there are very many, only some are named, so a missing name proves nothing.
  const isKnown = (name: string): boolean => me.namespaces.includes(name) || me.namespacesOmitted !== undefined;
  const names = me.namespaces.includes(namespace) ? me.namespaces : [namespace, ...me.namespaces];
  const change = (name: string): void => {
    const view = here.view === "tokens" || here.view === "home" || here.view === "unknown" ? "overview" : here.view;
    navigate(hrefOf(name, view));
  };
  return (
    <label class="namespace">
      <span>Namespace</span>
      <select value={namespace} onFocus={() => void refreshSession()} onChange={(event) => change(event.currentTarget.value)}>
        {names.map((name) => (
          <option key={name} value={name}>
            {plain(name)}
            {isKnown(name) ? "" : " (does not exist yet)"}
          </option>
        ))}
      </select>
    </label>
  );
}

function Navigation({ here }: { readonly here: PageRoute }) {
  const { me, namespace } = useView();
  const current = here.view === "research" ? "knowledge" : here.view === "home" ? "overview" : here.view;
  return (
    <nav aria-label="Views">
      {groups.map((group) => (
        <div key={group} class="nav-group">
          <p class="nav-title">{group}</p>
          <ul>
            {(Object.keys(entries) as (keyof typeof entries)[])
              .map((view) => [view, ...entries[view]] as const)
              .filter(([view, of]) => of === group && (view !== "tokens" || me.role === "admin"))
              .map(([view, , text, icon]) => (
                <li key={view}>
                  <a href={view === "tokens" ? "/tokens" : hrefOf(namespace, view)} aria-current={view === current ? "page" : undefined}>
                    <Icon name={icon} /> {text}
                  </a>
                </li>
              ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}

const themeWords = { auto: "the system's", light: "light", dark: "dark" } as const;

function Person() {
  const { me } = useView();
  const now = useCell(theme);
  const next = themes[(themes.indexOf(now) + 1) % themes.length] ?? "auto";
  return (
    <div class="person">
      <div class="person-who">
        <Icon name="person" />
        <Name text={me.principal} mono={false} />
        <RoleBadge role={me.role} />
      </div>
      {(me.readOnly || me.role === "read") && <p class="muted small">{me.readOnly ? "This server is read-only." : "You have read-only access."}</p>}
      <div class="person-actions">
        <button type="button" class="button quiet small" onClick={() => setTheme(next)} title={`Change to ${themeWords[next]}`}>
          <Icon name={now} /> Theme: {now}
        </button>
        {readToken() !== undefined && (
          <button type="button" class="button quiet small" onClick={signOut}>
            <Icon name="out" /> Sign out
          </button>
        )}
      </div>
    </div>
  );
}

function SearchBox({ here }: { readonly here: PageRoute }) {
  const { namespace } = useView();
  const [text, setText] = useState("");
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => setText(""), [here.view]);
  // The search view has its own, larger box.
  if (here.view === "search") return null;
  return (
    <search class="search-box">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (text.trim() !== "") navigate(hrefOf(namespace, "search", undefined, { q: text }));
        }}
      >
        <Icon name="search" />
        <input
          ref={box}
          {...searchBoxMark}
          type="search"
          aria-label="Search everything"
          placeholder="Search everything"
          aria-keyshortcuts="/"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => event.key === "Escape" && box.current?.blur()}
        />
        <span class="key" aria-hidden="true">
          /
        </span>
      </form>
    </search>
  );
}

function ConnectionState() {
  const now = useCell(connection);
  const left = useTicking(() => (now.state === "waiting" ? `${Math.max(1, Math.ceil((now.untilMs - Date.now()) / 1_000))} s` : ""));
  const words =
    now.state === "live"
      ? "Live"
      : now.state === "connecting"
        ? "Connecting"
        : now.state === "waiting"
          ? `Offline, again in ${left}`
          : now.state === "paused"
            ? "Paused"
            : "Stopped";
  return (
    <div class={`connection ${now.state}`}>
      <span role="status" title={now.state === "waiting" || now.state === "stopped" ? now.why : "Changes appear as they happen"}>
        <span class="pulse" aria-hidden="true" />
        {/* The seconds are hidden from screen readers: read aloud every second, they would drown out everything else. */}
        <span class="unsighted">{now.state === "waiting" ? "Offline" : words}</span>
        <span aria-hidden="true">{words}</span>
      </span>
      {now.state === "waiting" && (
        <button type="button" class="button small" onClick={tryNow}>
          Try now
        </button>
      )}
    </div>
  );
}
