import { useState } from "preact/hooks";
import type { CreatedToken, Me, NewTokenRequest, RoleName, TokenRow, TokensAnswer } from "../../src/surfaces/dashboard/api.ts";
import { requestApi } from "../data/api-client.ts";
import { useQuery } from "../data/use-query.ts";
import { RoleBadge } from "../parts/badge.tsx";
import { CopyButton } from "../parts/copy-button.tsx";
import { Confirm, Dialog } from "../parts/dialog.tsx";
import { FieldInput } from "../parts/field.tsx";
import { plural } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { announce } from "../parts/notice.tsx";
import { PageHead } from "../parts/panel.tsx";
import { AnswerPanel, Empty } from "../parts/state-panels.tsx";
import { Name } from "../parts/stored-text.tsx";
import { Ago, Countdown } from "../parts/time.tsx";
import { plain } from "../parts/unseen.ts";
import type { Column } from "../parts/windowed-table.tsx";
import { WindowedTable } from "../parts/windowed-table.tsx";

export function TokensView({ me }: { readonly me: Me }) {
  const [creating, setCreating] = useState(false);
  const [created, setCreated] = useState<CreatedToken>();
  const [revoking, setRevoking] = useState<TokenRow>();
  const allowed = me.role === "admin";
  // Tokens are not part of a namespace's history, so they are read when the page opens and after each change.
  const query = useQuery<TokensAnswer>(allowed ? "/api/tokens" : undefined, () => false);
  const columns: readonly Column<TokenRow>[] = [
    { heading: "Name", track: "minmax(8rem, 1.2fr)", narrow: "first", cell: ({ name }) => <Name text={name} mono={false} /> },
    { heading: "Role", track: "5.5rem", narrow: "first-end", cell: ({ role }) => <RoleBadge role={role} /> },
    { heading: "Namespaces", track: "minmax(8rem, 1.4fr)", narrow: "second", cell: ({ namespaces }) => (namespaces === "*" ? "all" : <Name text={namespaces.join(", ")} />) },
    {
      heading: "Last used",
      track: "7rem",
      drop: 2,
      narrow: "second-end",
      labelled: true,
      cell: ({ lastUsedAtMs }) => (lastUsedAtMs === undefined ? <span class="muted">never</span> : <Ago at={lastUsedAtMs} />),
    },
    {
      heading: "Expires",
      track: "8rem",
      drop: 3,
      narrow: "hidden",
      cell: ({ expiresAtMs }) => (expiresAtMs === undefined ? <span class="muted">never</span> : <Countdown until={expiresAtMs} over="expired" />),
    },
    { heading: "Created", track: "7rem", drop: 1, narrow: "hidden", cell: ({ createdAtMs }) => <Ago at={createdAtMs} /> },
    {
      heading: "Action",
      track: "6rem",
      align: "end",
      narrow: "action",
      cell: (token) =>
        token.revokedAtMs === undefined ? (
          !me.readOnly && (
            <button type="button" class="button small" aria-label={`Revoke ${plain(token.name)}`} onClick={() => setRevoking(token)}>
              Revoke
            </button>
          )
        ) : (
          <span class="badge off">revoked</span>
        ),
    },
  ];
  return (
    <>
      <PageHead
        title="Tokens"
        lead="Who may reach this server, with which role, in which namespaces. History records which token made each change."
        actions={
          allowed &&
          !me.readOnly && (
            <button type="button" class="button primary" onClick={() => setCreating(true)}>
              <Icon name="plus" /> New token
            </button>
          )
        }
      />
      {allowed ? (
        <AnswerPanel query={query} what="the tokens">
          {({ tokens }) =>
            tokens.length === 0 ? (
              <Empty title="No tokens yet">Without one, only people at the server's own machine can reach it.</Empty>
            ) : (
              <>
                <p class="muted count">{plural(tokens.length, "token")}</p>
                <WindowedTable label="Tokens" rows={tokens} columns={columns} keyOf={({ id }) => id} />
              </>
            )
          }
        </AnswerPanel>
      ) : (
        <Empty title="Only admins see tokens">Ask an administrator.</Empty>
      )}
      {creating && (
        <NewTokenDialog
          me={me}
          onCreated={(token) => {
            setCreated(token);
            query.reload();
          }}
          onClose={() => setCreating(false)}
        />
      )}
      {created !== undefined && !creating && <SecretDialog created={created} onClose={() => setCreated(undefined)} />}
      {revoking !== undefined && <RevokeDialog token={revoking} onRevoked={query.reload} onClose={() => setRevoking(undefined)} />}
    </>
  );
}

const roleTexts: Readonly<Record<RoleName, string>> = {
  read: "read: sees everything in its namespaces and changes nothing",
  write: "write: an agent's usual role",
  admin: "admin: also resets namespaces and manages tokens",
};
const lifetimes = [
  ["", "never"],
  ["1", "in a day"],
  ["7", "in a week"],
  ["30", "in 30 days"],
  ["90", "in 90 days"],
  ["365", "in a year"],
] as const;
const dayMs = 86_400_000;

function NewTokenDialog({ me, onCreated, onClose }: { readonly me: Me; onCreated(created: CreatedToken): void; onClose(): void }) {
  const [name, setName] = useState("");
  const [role, setRole] = useState<RoleName>("write");
  const [scope, setScope] = useState<"some" | "all">("some");
  const [namespaces, setNamespaces] = useState(me.defaultNamespace);
  const [days, setDays] = useState("90");
  const named = namespaces
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "");
  const act = async () => {
    const body: NewTokenRequest = {
      name: name.trim(),
      role,
      namespaces: scope === "all" ? "*" : named,
      ...(days === "" ? {} : { expiresAtMs: Date.now() + Number(days) * dayMs }),
    };
    onCreated(await requestApi<CreatedToken>("/api/tokens", { method: "POST", body }));
    return undefined;
  };
  return (
    <Confirm
      title="New token"
      action="Create the token"
      dismiss="Cancel"
      needs={name.trim() === "" ? "A name is still missing." : scope === "some" && named.length === 0 ? "No namespace is named yet." : undefined}
      act={act}
      onClose={onClose}
    >
      <FieldInput label="Name" hint="The owner; history shows it as the writer.">
        {(ids) => <input {...ids} type="text" autocomplete="off" spellcheck={false} value={name} onInput={(event) => setName(event.currentTarget.value)} />}
      </FieldInput>
      <FieldInput label="Role">
        {(ids) => (
          <select {...ids} value={role} onChange={(event) => setRole(event.currentTarget.value as RoleName)}>
            {(Object.keys(roleTexts) as RoleName[]).map((each) => (
              <option key={each} value={each}>
                {roleTexts[each]}
              </option>
            ))}
          </select>
        )}
      </FieldInput>
      <FieldInput label="Namespaces">
        {(ids) => (
          <select {...ids} value={scope} onChange={(event) => setScope(event.currentTarget.value as "some" | "all")}>
            <option value="some">only those named below</option>
            <option value="all">all, including future ones</option>
          </select>
        )}
      </FieldInput>
      {scope === "some" && (
        <FieldInput label="Their names" hint="Separated by commas. The first one is used when a client names none.">
          {(ids) => (
            <input {...ids} type="text" class="mono" spellcheck={false} autocapitalize="off" value={namespaces} onInput={(event) => setNamespaces(event.currentTarget.value)} />
          )}
        </FieldInput>
      )}
      <FieldInput label="Expires">
        {(ids) => (
          <select {...ids} value={days} onChange={(event) => setDays(event.currentTarget.value)}>
            {lifetimes.map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        )}
      </FieldInput>
    </Confirm>
  );
}

function SecretDialog({ created, onClose }: { readonly created: CreatedToken; onClose(): void }) {
  return (
    <Dialog title="The token is ready" onClose={onClose}>
      <div class="dialog-body">
        <p>
          This is the secret of <Name text={created.token.name} mono={false} />. It is shown only once: the server keeps only a hash of it. Copy it now.
        </p>
        <div class="secret">
          <code>{created.secret}</code>
          <CopyButton text={created.secret} what="the secret" />
        </div>
        <p class="muted">
          Clients send it as <code>Authorization: Bearer …</code>
        </p>
      </div>
      <footer class="dialog-foot">
        <button type="button" class="button primary" onClick={onClose}>
          I have copied it
        </button>
      </footer>
    </Dialog>
  );
}

function RevokeDialog({ token, onRevoked, onClose }: { readonly token: TokenRow; onRevoked(): void; onClose(): void }) {
  const act = async () => {
    await requestApi(`/api/tokens/${encodeURIComponent(token.id)}`, { method: "DELETE" });
    announce(`${token.name} was revoked.`);
    onRevoked();
    return undefined;
  };
  return (
    <Confirm title="Revoke this token?" action="Revoke the token" danger act={act} onClose={onClose}>
      <p>
        Calls with the token <Name text={token.name} mono={false} /> are rejected within seconds, on every server of this store. This cannot be undone; its changes stay in history
        under its name.
      </p>
    </Confirm>
  );
}
