import { HoldfastError } from "../../kernel/errors.ts";
import { rightsHint } from "./rights.ts";

/** What Redis itself answered with; the driver gives its errors this name. */
export const isReply = (error: unknown): error is Error => error instanceof Error && error.name === "ReplyError";

/** The driver puts the command with all its arguments into its errors: values, and the password. They go no further. */
export function withoutCommand<E>(error: E): E {
  if (error instanceof Error) delete (error as { command?: unknown }).command;
  return error;
}

/** The word an error reply begins with: what errors are told apart by. */
export const replyCode = (error: unknown): string => (isReply(error) ? (/^[A-Z]+/.exec(error.message)?.[0] ?? "ERR") : "");

/** Answers that prove that nothing was executed, of a server that will be ready soon or is no longer the right one. */
const passing = new Set(["LOADING", "CLUSTERDOWN", "TRYAGAIN", "READONLY", "MASTERDOWN", "BUSY"]);
export const isPassing = (error: unknown): boolean => passing.has(replyCode(error)) || isOnItsWay(error);

/** A script met a key of a slot that is being moved to another node; scripts look for that before they write. */
const isOnItsWay = (error: unknown): boolean => isReply(error) && error.message.includes("access a non local key");

/** After these another server may have become the right one. */
export const isWrongServer = (error: unknown): boolean => ["READONLY", "MASTERDOWN"].includes(replyCode(error));

/** Waiting will not mend these: a person has to. */
export const isFinal = (error: unknown): boolean =>
  error instanceof HoldfastError && (error.code === "store_unsupported" || error.code === "store_newer" || error.code === "store_damaged");

/** Nobody listens there: unlike silence, an answer, and one that waiting seldom changes. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof HoldfastError && error.code === "unavailable" && (error.cause as { readonly code?: unknown } | undefined)?.code === "ECONNREFUSED";

const unavailable = (message: string, hint: string, cause?: unknown): HoldfastError => new HoldfastError("unavailable", `${message}; nothing was changed.`, { hint, cause });

export const closedError = (): HoldfastError => new HoldfastError("unavailable", "The store is closed.");

export const lostAnswer = (cause?: unknown): HoldfastError =>
  new HoldfastError("outcome_unknown", "Redis was sent the write, and no answer came back: it may or may not have happened.", {
    hint: "Ask again with the same request key, or read.",
    cause,
  });

export const notConfirmed = (what: string): HoldfastError =>
  new HoldfastError("outcome_unknown", `The write was stored on the primary, but ${what}: a failover now could lose it.`, {
    hint: "Check the replicas (INFO replication); ask again with the same request key, or read. Without wait_replicas and wait_aof in the store's URL nobody waits for this.",
  });

export const noTlsError = (cause?: unknown): HoldfastError =>
  new HoldfastError("store_unsupported", "The server does not speak TLS.", {
    hint: "Use redis:// in place of rediss:// in the store's URL (only on a network where no one else can listen), or name the port on which it speaks TLS.",
    cause,
  });

/** A connection was made, and nothing came back on it. */
export const unansweredError = (isSilent: boolean): HoldfastError =>
  unavailable(
    isSilent
      ? "What answers at the store's host and port took the connection and says nothing"
      : "What answers at the store's host and port closes the connection without an answer",
    "Check that a Redis runs there, and whether it wants TLS (rediss://); the connection is tried again by itself.",
  );

/** A failure before anything was sent, or of a read. By the code of the socket, TLS or Redis; its words stay in `cause`, for the log. */
export function connectError(cause: unknown, prefix: string): HoldfastError {
  if (cause instanceof HoldfastError) return cause;
  if (isReply(cause)) return translateReply(cause, prefix);
  const { code = "", message = "" } = (cause ?? {}) as { readonly code?: string; readonly message?: string };
  if (message.startsWith("Unknown RESP type"))
    return new HoldfastError("store_unsupported", "What answers at the store's host and port does not speak the protocol of Redis.", {
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
        ? "has a host name that is not known"
        : code === "" && message !== "Connection is closed."
          ? "did not answer in time"
          : "cannot be reached";
  return unavailable(
    `Redis ${reason}${code === "" ? "" : ` (${code})`}`,
    "Check that the server runs and that host and port in the store's URL are right; the connection is tried again by itself.",
    cause,
  );
}

/** By the word that Redis puts first; its own words stay in `cause`. */
export function translateReply(cause: Error, prefix: string): HoldfastError {
  const unsupported = (message: string, hint: string): HoldfastError => new HoldfastError("store_unsupported", message, { hint, cause });
  switch (replyCode(cause)) {
    case "OOM":
      return new HoldfastError("storage_full", "Redis has reached its maxmemory and takes no more; nothing was changed.", {
        hint: "Raise maxmemory, or let compaction forget more (--history-age, --history-revisions); no restart is needed.",
        cause,
      });
    case "MISCONF":
      return new HoldfastError("storage_full", "Redis cannot write to its disk and takes no writes; nothing was changed.", {
        hint: "Free space on the disk of Redis and check its log; it goes on by itself.",
        cause,
      });
    case "NOREPLICAS":
      return unavailable("Redis has fewer replicas than min-replicas-to-write asks for and takes no writes", "Bring the replicas back; try again.", cause);
    case "READONLY":
    case "MASTERDOWN":
      return unavailable("This Redis is a replica and takes no writes", "Name the primary in the store's URL, or use redis+sentinel:// or redis+cluster://, which find it.", cause);
    case "LOADING":
      return unavailable("Redis is reading its data after a start", "Try again shortly.", cause);
    case "BUSY":
      return unavailable("Redis is kept busy by a script", "Try again shortly; if it stays so, look for the script of another program (SCRIPT KILL ends it).", cause);
    case "CLUSTERDOWN":
    case "TRYAGAIN":
      return unavailable("The Redis Cluster does not serve all of its slots", "Check the cluster (CLUSTER INFO); it goes on by itself.", cause);
    case "NOAUTH":
      return unsupported(
        "Redis asks for a password and the store's URL has none.",
        "Write it into the URL: redis://USER:PASSWORD@HOST:PORT (without a user: redis://:PASSWORD@HOST:PORT).",
      );
    case "WRONGPASS":
      return unsupported("Redis does not accept the user and password of the store's URL.", "Correct them; special characters are written as %XX.");
    case "NOPERM":
      return unsupported("The Redis user lacks a right that Holdfast needs.", rightsHint(prefix));
    case "WRONGTYPE":
      return new HoldfastError("store_damaged", "A key under the store's prefix is not what Holdfast keeps there. Nothing was overwritten.", {
        hint: "Another program may use the same prefix: name another with prefix= in the store's URL.",
        cause,
      });
    case "HOLDFAST":
      return damagedError(cause.message.replace(/^HOLDFAST damaged /, "").replace(/ script: .*$/s, ""), cause);
    default:
      return translateText(cause, prefix);
  }
}

/** Some answers only begin with ERR. */
function translateText(cause: Error, prefix: string): HoldfastError {
  const text = cause.message;
  if (/ACL failure|no permissions|executing the script can't/.test(text)) return translateReply(Object.assign(new Error(`NOPERM ${text}`), { name: "ReplyError" }), prefix);
  if (/without any password configured/.test(text))
    return new HoldfastError("store_unsupported", "The store's URL has a password, but this Redis asks for none.", { hint: "Leave it out of the URL, or set requirepass.", cause });
  if (/invalid password|wrong number of arguments for 'auth'/.test(text))
    return new HoldfastError("store_unsupported", "Redis does not accept the user and password of the store's URL.", {
      hint: "Correct them; special characters are written as %XX.",
      cause,
    });
  if (isOnItsWay(cause)) return unavailable("A slot of the Redis Cluster is being moved to another node", "Try again when it has moved.", cause);
  if (/max number of clients/.test(text))
    return unavailable("Redis has as many connections as maxclients allows", "Raise maxclients or close other programs' connections; try again.", cause);
  if (/DB index is out of range|invalid DB index/.test(text))
    return new HoldfastError("store_unsupported", "This Redis has no database of that number.", { hint: "Use /0 in the store's URL, or raise `databases`.", cause });
  if (/cluster support disabled/.test(text))
    return new HoldfastError("store_unsupported", "The server is no Redis Cluster.", { hint: "Use redis:// instead of redis+cluster://.", cause });
  if (/ID specified in XADD is equal or smaller/.test(text))
    return new HoldfastError("store_damaged", "The log is ahead of the namespace it belongs to: a key under the store's prefix was removed. Nothing was overwritten.", {
      hint: "Restore a backup, or use another prefix.",
      cause,
    });
  return new HoldfastError("internal", "Redis failed in a way that Holdfast does not know.", { cause });
}

export const damagedError = (lacking: string, cause?: unknown): HoldfastError =>
  new HoldfastError("store_damaged", `The store lacks something it must have: ${lacking}. Nothing was overwritten.`, {
    hint: "Keys under the store's prefix were removed by another program, or evicted. Restore a backup, or use another prefix.",
    cause,
  });
