import { CopyButton } from "../parts/copy-button.tsx";
import { Name } from "../parts/stored-text.tsx";
import { useView } from "../view-context.ts";

/** How an agent connects to this namespace, ready to copy. */
export function ConnectAgent() {
  const { me, namespace } = useView();
  const endpoint = `${location.origin}/ns/${encodeURIComponent(namespace)}/mcp`;
  const install = `holdfast install claude-code --http ${endpoint}`;
  return (
    <>
      <p>Set up a client, here Claude Code; holdfast install --help lists the others:</p>
      <div class="secret">
        <code>{install}</code>
        <CopyButton text={install} what="the command" />
      </div>
      <p>
        Or give any MCP client the endpoint of this namespace. {me.kind === "operator" ? "Clients on this machine need no token; others send one" : "Clients send a token"} as
        Authorization: Bearer.
      </p>
      <div class="secret">
        <code>{endpoint}</code>
        <CopyButton text={endpoint} what="the endpoint" />
      </div>
    </>
  );
}

/** A mistyped name looks like a healthy, unused namespace. */
export function NotThereYet() {
  const { me, namespace } = useView();
  if (me.namespaces.includes(namespace) || me.namespacesOmitted !== undefined) return null;
  return (
    <p class="banner warn">
      <span>
        There is no namespace <Name text={namespace} /> yet. The first write creates it; if you mean another one, choose it in the menu.
      </span>
    </p>
  );
}
