import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface PanelProps {
  readonly title: string;
  readonly aside?: ComponentChildren;
  readonly class?: string;
  readonly children: ComponentChildren;
}

export function Panel({ title, aside, class: kind, children }: PanelProps) {
  const id = useId();
  return (
    <section class={kind === undefined ? "panel" : `panel ${kind}`} aria-labelledby={id}>
      <header class="panel-head">
        <h2 id={id}>{title}</h2>
        {aside !== undefined && <div class="panel-aside">{aside}</div>}
      </header>
      {children}
    </section>
  );
}

interface PageHeadProps {
  readonly title: ComponentChildren;
  readonly lead?: ComponentChildren;
  readonly back?: { readonly href: string; readonly text: string };
  readonly actions?: ComponentChildren;
}

/** The only heading of a view; it gets the focus when the view is opened. */
export function PageHead({ title, lead, back, actions }: PageHeadProps) {
  return (
    <header class="page-head">
      {back !== undefined && (
        <a class="back" href={back.href}>
          ← {back.text}
        </a>
      )}
      <div class="page-title">
        <h1 tabIndex={-1}>{title}</h1>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </div>
      {lead !== undefined && <p class="lead">{lead}</p>}
    </header>
  );
}

/** Names and values, side by side. */
export function FactList({ facts }: { readonly facts: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {facts
        .filter(([, value]) => value !== undefined && value !== null && value !== "")
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
