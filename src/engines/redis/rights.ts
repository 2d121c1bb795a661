import { HoldfastError } from "../../kernel/errors.ts";
import type { Send } from "./server-facts.ts";

/** Commands that the scripts use on the store's keys; the key is the first argument of each. */
const inScripts =
  "exists del unlink hset hget hmget hdel hlen hkeys hincrby zadd zrem zcard zcount zscore zrank zrange zrevrange zrangebyscore zrangebylex zrevrangebylex zlexcount xadd xdel xlen xrange xrevrange".split(
    " ",
  );
/**
 * Other commands. `config|get` only to check the settings, `cluster|slots` and `asking` only in a cluster, `select` only for a database other than 0, `wait` and
 * `waitaof` only if the URL requests them.
 */
const besides = "eval evalsha info time hsetnx xread sadd sismember smembers config|get cluster|slots asking select wait waitaof".split(" ");

/** The minimum rights of a Redis user: its own keys, and these commands. */
export const neededRights = (prefix: string): string => [`~${prefix}*`, "-@all", ...[...besides, ...inScripts].map((command) => `+${command}`)].join(" ");

export const rightsHint = (prefix: string): string => `Give the user: ACL SETUSER NAME ${neededRights(prefix)}`;

const checkScript = `#!lua flags=no-writes
local lacking = {}
for i = 2, #ARGV do
  if not redis.acl_check_cmd(ARGV[i], ARGV[1], ARGV[1], ARGV[1], ARGV[1]) then lacking[#lacking + 1] = ARGV[i] end
end
return lacking`;

/** Checked for every connection: a script does not roll back, so it must not find out halfway that a command is forbidden. */
export async function requireRights(send: Send, prefix: string): Promise<void> {
  const lacking = (await send("eval", [checkScript, "0", `${prefix}store`, ...inScripts])) as readonly string[];
  if (lacking.length === 0) return;
  throw new HoldfastError("store_unsupported", `The Redis user lacks rights that Holdfast needs: it may not use ${lacking.join(", ")} on keys that begin with ${prefix}`, {
    hint: rightsHint(prefix),
  });
}
