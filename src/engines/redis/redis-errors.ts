import { HoldfastError } from "../../kernel/errors.ts";
import { rightsHint } from "./rights.ts";

/** An error reply from Redis itself; the driver gives these errors this name. */
export const isReply = (error: unknown): error is Error => error instanceof Error && error.name === "ReplyError";

/** The driver adds the command with all its arguments to its errors, including values and the password. They must not be passed on. */
export function withoutCommand<E>(error: E): E {
  if (error instanceof Error) delete (error as { command?: unknown }).command;
  return error;
}

/** The first word of an error reply, which identifies the error. */
export const replyCode = (error: unknown): string => (isReply(error) ? (/^[A-Z]+/.exec(error.message)?.[0] ?? "ERR") : "");

/** Replies that prove that nothing was executed, from a server that will be ready soon or is no longer the right one. */
const passing = new Set(["LOADING", "CLUSTERDOWN", "TRYAGAIN", "READONLY", "MASTERDOWN", "BUSY"]);
export const isPassing = (error: unknown): boolean => passing.has(replyCode(error)) || isSlotMoving(error);

/** A script accessed a key of a slot that is moving to another node; scripts check for that before they write. */
const isSlotMoving = (error: unknown): boolean => isReply(error) && error.message.includes("access a non local key");

/** After these replies, another server may have become the right one. */
export const isWrongServer = (error: unknown): boolean => ["READONLY", "MASTERDOWN"].includes(replyCode(error));

/** Waiting does not fix these errors: a person must. */
export const isFinal = (error: unknown): boolean =>
  error instanceof HoldfastError && (error.code === "store_unsupported" || error.code === "store_newer" || error.code === "store_damaged");

/** The connection was refused. Unlike silence, that is an answer, and waiting rarely changes it. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof HoldfastError && error.code === "unavailable" && (error.cause as { readonly code?: unknown } | undefined)?.code === "ECONNREFUSED";

const unavailable = (message: string, hint: string, cause?: unknown): HoldfastError => new HoldfastError("unavailable", `${message}; nothing was changed.`, { hint, cause });

export const closedError = (): HoldfastError => new HoldfastError("unavailable", "The store is closed.");

export const lostAnswer = (cause?: unknown): HoldfastError =>
  new HoldfastError("outcome_unknown", "The write was sent to Redis, but no reply arrived: it may or may not have taken effect.", {
    hint: "Retry with the same request key, or read.",
    cause,
  });

export const notConfirmed = (what: string): HoldfastError =>
  new HoldfastError("outcome_unknown", `The write was stored on the primary, but ${what}: a failover now could lose it.`, {
    hint: "Check the replicas (INFO replication); then retry with the same request key, or read. To stop waiting for replicas, remove wait_replicas and wait_aof from the store's URL.",
  });

export const noTlsError = (cause?: unknown): HoldfastError =>
  new HoldfastError("store_unsupported", "The server does not speak TLS.", {
    hint: "Use redis:// in place of rediss:// in the store's URL (only on a network where no one else can listen), or use the port on which it speaks TLS.",
    cause,
  });

/** The connection was established, but no reply came. */
export const unansweredError = (isSilent: boolean): HoldfastError =>
  unavailable(
    isSilent
      ? "The server at the store's host and port accepts connections but does not answer"
      : "The server at the store's host and port closes the connection without an answer",
    "Check that Redis runs there, and whether it requires TLS (rediss://). Holdfast keeps trying to connect.",
  );

/** A failure of a read, or before anything was sent. Chosen by the code of the socket, TLS or Redis; the original message stays in `cause`, for the log. */
export function connectError(cause: unknown, prefix: string): HoldfastError {
  if (cause instanceof HoldfastError) return cause;
  if (isReply(cause)) return translateReply(cause, prefix);
  const { code = "", message = "" } = (cause ?? {}) as { readonly code?: string; readonly message?: string };
  if (message.startsWith("Unknown RESP type"))
    return new HoldfastError("store_unsupported", "The server at the store's host and port does not speak the Redis protocol.", {
      hint: "Another program listens there: check host and port in the store's URL.",
      cause,
    });
  if (code === "ERR_SSL_WRONG_VERSION_NUMBER") return noTlsError(cause);
  if (code.startsWith("ERR_TLS") || code.includes("CERT") || code.startsWith("ERR_SSL") || code === "EPROTO")
    return new HoldfastError("store_unsupported", `Redis could not be reached over TLS (${code}).`, {
      hint: "rediss:// needs a server that speaks TLS with a certificate this machine trusts; name the authority's file with tls_ca=FILE.",
      cause,
    });
  if (message.includes("All sentinels are unreachable"))
    return unavailable("No sentinel named a primary that can be reached", "Check the sentinels' hosts and ports and the group's name in the store's URL.", cause);
  const reason =
    code === "ECONNREFUSED"
      ? "refuses connections"
      : code === "ENOTFOUND" || code === "EAI_AGAIN"
        ? "has an unknown host name"
        : code === "" && message !== "Connection is closed."
          ? "did not answer in time"
          : "cannot be reached";
  return unavailable(
    `Redis ${reason}${code === "" ? "" : ` (${code})`}`,
    "Check that the server runs and that host and port in the store's URL are right. Holdfast keeps trying to connect.",
    cause,
  );
}

/** Chosen by the first word of the reply; the original message stays in `cause`. */
export function translateReply(cause: Error, prefix: string): HoldfastError {
  const unsupported = (message: string, hint: string): HoldfastError => new HoldfastError("store_unsupported", message, { hint, cause });
  switch (replyCode(cause)) {
    case "OOM":
      return new HoldfastError("storage_full", "Redis has reached maxmemory and accepts no more writes; nothing was changed.", {
        hint: "Raise maxmemory, or keep less history (--history-age, --history-revisions); no restart is needed.",
        cause,
      });
    case "MISCONF":
      return new HoldfastError("storage_full", "Redis cannot write to its disk and accepts no writes; nothing was changed.", {
        hint: "Free space on Redis's disk and check its log; no restart is needed.",
        cause,
      });
    case "NOREPLICAS":
      return unavailable("Redis has fewer replicas than min-replicas-to-write requires and accepts no writes", "Bring the replicas back; try again.", cause);
    case "READONLY":
    case "MASTERDOWN":
      return unavailable(
        "This Redis is a replica and accepts no writes",
        "Name the primary in the store's URL, or use redis+sentinel:// or redis+cluster://, which find it.",
        cause,
      );
    case "LOADING":
      return unavailable("Redis is reading its data after a start", "Try again shortly.", cause);
    case "BUSY":
      return unavailable("Redis is busy running a script", "Try again shortly; if it stays busy, look for the script of another program (SCRIPT KILL ends it).", cause);
    case "CLUSTERDOWN":
    case "TRYAGAIN":
      return unavailable("The Redis Cluster does not serve all of its slots", "Check the cluster (CLUSTER INFO). Holdfast continues once every slot is served.", cause);
    case "NOAUTH":
      return unsupported(
        "Redis requires a password, but the store's URL has none.",
        "Write it into the URL: redis://USER:PASSWORD@HOST:PORT (without a user: redis://:PASSWORD@HOST:PORT).",
      );
    case "WRONGPASS":
      return unsupported("Redis rejected the user and password from the store's URL.", "Correct them; special characters are written as %XX.");
    case "NOPERM":
      return unsupported("The Redis user lacks a right that Holdfast needs.", rightsHint(prefix));
    case "WRONGTYPE":
      return new HoldfastError("store_damaged", "A key under the store's prefix has a type that Holdfast does not use there. Nothing was overwritten.", {
        hint: "Another program may use the same prefix: choose another with prefix= in the store's URL.",
        cause,
      });
    case "HOLDFAST":
      return damagedError(cause.message.replace(/^HOLDFAST damaged /, "").replace(/ script: .*$/s, ""), cause);
    default:
      return translateText(cause, prefix);
  }
}

/** Some replies begin only with ERR and are identified by their text. */
function translateText(cause: Error, prefix: string): HoldfastError {
  const text = cause.message;
  if (/ACL failure|no permissions|executing the script can't/.test(text)) return translateReply(Object.assign(new Error(`NOPERM ${text}`), { name: "ReplyError" }), prefix);
  if (/without any password configured/.test(text))
    return new HoldfastError("store_unsupported", "The store's URL has a password, but this Redis requires none.", { hint: "Leave it out of the URL, or set requirepass.", cause });
  if (/invalid password|wrong number of arguments for 'auth'/.test(text))
    return new HoldfastError("store_unsupported", "Redis rejected the user and password from the store's URL.", {
      hint: "Correct them; special characters are written as %XX.",
      cause,
    });
  if (isSlotMoving(cause)) return unavailable("A slot of the Redis Cluster is being moved to another node", "Try again when it has moved.", cause);
  if (/max number of clients/.test(text))
    return unavailable("Redis has as many connections as maxclients allows", "Raise maxclients or close other programs' connections; try again.", cause);
  if (/DB index is out of range|invalid DB index/.test(text))
    return new HoldfastError("store_unsupported", "This Redis has no database with that number.", { hint: "Use /0 in the store's URL, or raise `databases`.", cause });
  if (/cluster support disabled/.test(text))
    return new HoldfastError("store_unsupported", "The server is not a Redis Cluster.", { hint: "Use redis:// instead of redis+cluster://.", cause });
  if (/ID specified in XADD is equal or smaller/.test(text))
    return new HoldfastError("store_damaged", "The log is ahead of the namespace it belongs to: a key under the store's prefix was removed. Nothing was overwritten.", {
      hint: "Restore a backup, or use another prefix.",
      cause,
    });
  return new HoldfastError("internal", "Redis returned an error that Holdfast does not recognize.", { cause });
}

export const damagedError = (lacking: string, cause?: unknown): HoldfastError =>
  new HoldfastError("store_damaged", `Part of the store is missing: ${lacking}. Nothing was overwritten.`, {
    hint: "Keys under the store's prefix were removed by another program, or evicted. Restore a backup, or use another prefix.",
    cause,
  });
