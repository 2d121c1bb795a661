import { basename } from "node:path";
import { openRedisEngine } from "../../src/engines/redis/redis-engine.ts";
import { sharedRedis } from "../support/servers/fresh-url.ts";
import { describeStore } from "./conformance/describe-store.ts";
import type { OpenEngine } from "./conformance/fixture.ts";
import { describeHistories } from "./histories.ts";

/** The folder only lends its name: opened for the same folder again, it is the same store. */
const open: OpenEngine = async (clock, folder) => openRedisEngine({ url: `${await sharedRedis()}?prefix=${basename(folder)}:&deadline=10m`, timeSource: clock });

describeStore("redis", open, { durable: true });
describeHistories("redis", open);
