import type { HealthAnswer as Health } from "../../src/surfaces/dashboard/api.ts";
import { useCell } from "../cell.ts";
import { connection } from "../data/live.ts";
import { useQuery } from "../data/use-query.ts";
import { Icon } from "../parts/icon.tsx";
import { FactList, PageHead, Panel } from "../parts/panel.tsx";
import { AnswerPanel } from "../parts/state-panels.tsx";
import { Name } from "../parts/stored-text.tsx";
import { useView } from "../view-context.ts";
import { ConnectAgent } from "./connect-agent.tsx";
import { storeFacts } from "./health-facts.ts";

export function HealthView() {
  const { me, api } = useView();
  const query = useQuery<Health>(`${api}/health`, () => false);
  const { state } = useCell(connection);
  return (
    <>
      <PageHead title="Health" lead="Storage, durability and connection details." />
      <AnswerPanel query={query} what="the health of the store">
        {(health) => <Store health={health} />}
      </AnswerPanel>
      <div class="grid">
        <Panel title="Connect an agent" class="half">
          <ConnectAgent />
        </Panel>
        <Panel title="You" class="half">
          <FactList
            facts={[
              ["Name", <Name key="name" text={me.principal} mono={false} />],
              ["Role", me.role],
              ["Signed in", me.kind === "operator" ? "as the operator of this machine" : me.kind === "token" ? "with a token" : "by your organisation"],
              ["Server", `Holdfast ${me.version}`],
              ["Changes", me.readOnly ? "none: the server is read-only" : me.role === "read" ? "none: your role only reads" : "allowed, recorded under your name"],
              ["Live updates", state === "live" ? "connected" : state],
            ]}
          />
        </Panel>
      </div>
    </>
  );
}

function Store({ health }: { readonly health: Health }) {
  const { shown, details } = storeFacts(health.facts);
  return (
    <Panel title="Store">
      <p class={health.status === "ok" ? "calm" : "banner bad"}>
        <Icon name={health.status === "ok" ? "check" : "warning"} /> {health.status === "ok" ? "The store answers." : "The store reports an error."}
      </p>
      {health.warnings.map(({ about, says }) => (
        <p key={`${about} ${says}`} class="banner warn">
          <span>
            <strong>{about}</strong>: {says}
          </span>
        </p>
      ))}
      <FactList
        facts={[
          ["Engine", health.engine],
          ["Durability", health.durability],
          ...shown.map(({ name, label, value }) => [label, <Name key={name} text={value} mono={false} />] as const),
        ]}
      />
      {details.length > 0 && (
        <details class="more-facts">
          <summary>For the operator of the server</summary>
          <dl>
            {details.map(({ name, label, value, meaning }) => (
              <div key={name}>
                <dt>{label}</dt>
                <dd>
                  <Name text={value} mono={false} />
                </dd>
                {meaning !== undefined && <dd class="muted">{meaning}</dd>}
              </div>
            ))}
          </dl>
        </details>
      )}
    </Panel>
  );
}
