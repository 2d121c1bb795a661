import { startPostgres } from "../support/servers/postgres-server.ts";
import { startRedis } from "../support/servers/redis-server.ts";

/** Starts a server of each kind and waits: what becomes of them when it is killed? */
const [redis, postgres] = await Promise.all([startRedis(), startPostgres()]);
redis.pause();
process.stdout.write(`${JSON.stringify([redis, postgres].map(({ pid, folder }) => ({ pid, folder })))}\n`);
setInterval(() => {}, 60_000);
