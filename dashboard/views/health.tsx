import type { HealthView as Health } from "../../src/surfaces/dashboard/api.ts";
import { useCell } from "../cell.ts";
import { connection } from "../data/live.ts";
import { useQuery } from "../data/use-query.ts";
import { CopyButton } from "../parts/copy-button.tsx";
import { formatBytes, formatNumber } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { Facts, PageHead, Panel } from "../parts/panel.tsx";
import { Answer } from "../parts/state-panels.tsx";
import { Name } from "../parts/stored-text.tsx";
import { useView } from "../view-context.ts";

export function HealthView() {
  const { me, api, namespace } = useView();
  const query = useQuery<Health>(`${api}/health`, () => false);
  const { state } = useCell(connection);
  const endpoint = `${location.origin}/ns/${encodeURIComponent(namespace)}/mcp`;
  const install = `holdfast install claude-code --http ${endpoint}`;
  return (
    <>
      <PageHead title="Health" lead="The store behind this server, and how it keeps what it is given." />
      <Answer query={query} what="the health of the store">
        {(health) => <Store health={health} />}
      </Answer>
      <div class="grid">
        <Panel title="Connect an agent" class="half">
          <p>
            The MCP endpoint of this namespace. {me.kind === "operator" ? "Clients on this machine need no token; others send one" : "Clients send a token"} as Authorization:
            Bearer.
          </p>
          <div class="secret">
            <code>{endpoint}</code>
            <CopyButton text={endpoint} what="the endpoint" />
          </div>
          <p>Written into a client, here Claude Code:</p>
          <div class="secret">
            <code>{install}</code>
            <CopyButton text={install} what="the command" />
          </div>
        </Panel>
        <Panel title="You" class="half">
          <Facts
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
      <Facts
        facts={[
          ["Engine", health.engine],
          ["Durability", health.durability],
          ...Object.entries(health.facts).map(([name, value]) => [words(name), <Fact key={name} name={name} value={value} />] as const),
        ]}
      />
    </Panel>
  );
}

/** lastBackupAt, last_backup_at → Last backup at; sqlite_version → SQLite version */
const words = (name: string): string => {
  const text = name.replaceAll("_", " ").replace(/([a-z])([A-Z])/g, (_, before: string, after: string) => `${before} ${after.toLowerCase()}`);
  return text.replace(/^(sqlite|wal)\b|^./, (start) => (start === "sqlite" ? "SQLite" : start.toUpperCase()));
};

function Fact({ name, value }: { readonly name: string; readonly value: unknown }) {
  if (typeof value === "number") return <>{/bytes/i.test(name) ? formatBytes(value) : formatNumber(value)}</>;
  if (Array.isArray(value) && value.length === 0) return <>none</>;
  if (typeof value === "boolean") return <>{value ? "yes" : "no"}</>;
  return <Name text={typeof value === "string" ? value : JSON.stringify(value)} mono={typeof value !== "string"} />;
}
