import { luaScript } from "./lua-script.ts";
import clear from "./scripts/clear.lua";
import commit from "./scripts/commit.lua";
import compact from "./scripts/compact.lua";
import count from "./scripts/count.lua";
import dumpKeys from "./scripts/dump-keys.lua";
import dumpLog from "./scripts/dump-log.lua";
import dumpRequests from "./scripts/dump-requests.lua";
import load from "./scripts/load.lua";
import log from "./scripts/log.lua";
import past from "./scripts/past.lua";
import position from "./scripts/position.lua";
import read from "./scripts/read.lua";
import reindex from "./scripts/reindex.lua";
import request from "./scripts/request.lua";
import seal from "./scripts/seal.lua";
import search from "./scripts/search.lua";
import standing from "./scripts/standing.lua";
import sweep from "./scripts/sweep.lua";
import values from "./scripts/values.lua";

/** The scripts of a namespace. Each file describes what its script does and returns. */

export const commitScript = luaScript(commit, { basis: "write", needs: ["meta", "epoch", "documents", "slots", "batchKeys"], names: ["key_count"] });
export const sweepScript = luaScript(sweep, { basis: "write", flags: ["allow-oom"], needs: ["meta", "epoch", "documents", "slots"], names: ["limit"] });
export const reindexScript = luaScript(reindex, { basis: "write", needs: ["meta", "documents"] });
export const compactScript = luaScript(compact, { basis: "write", flags: ["allow-oom"], needs: ["meta"], names: ["age_ms", "revisions", "tombstones", "limit"] });

export const positionScript = luaScript(position, { basis: "read", needs: ["meta"] });
export const readScript = luaScript(read, { basis: "read", needs: ["meta"], names: ["limit", "reverse", "values", "looks"] });
export const valuesScript = luaScript(values, { basis: "none" });
export const pastScript = luaScript(past, { basis: "read", needs: ["meta", "windows"], names: ["limit", "reverse", "values", "at", "live_at_ms"] });
export const countScript = luaScript(count, { basis: "read", needs: ["meta", "filters"], names: ["min", "max"] });
export const requestScript = luaScript(request, { basis: "read", needs: ["meta"], names: ["key"] });
export const changeMarkScript = luaScript(standing, { basis: "read", needs: ["meta"] });
export const logScript = luaScript(log, {
  basis: "read",
  needs: ["meta", "filters", "windows", "scan"],
  names: ["limit", "reverse", "values", "after", "before", "recorded", "writer", "narrow", "previous", "values_bytes_max", "kind_count"],
});
export const searchScript = luaScript(search, { basis: "read", needs: ["meta", "documents"], names: ["limit", "area_count"] });

export const dumpLogScript = luaScript(dumpLog, { basis: "read", needs: ["meta", "scan", "storedKey"], names: ["after", "with_keys"] });
export const dumpKeysScript = luaScript(dumpKeys, { basis: "read", needs: ["meta", "windows", "storedKey"], names: ["min"] });
export const dumpRequestsScript = luaScript(dumpRequests, { basis: "read", needs: ["meta"], names: ["kept_until", "key"] });
export const loadScript = luaScript(load, { basis: "write", needs: ["meta", "epoch", "documents", "slots", "batchKeys"], names: ["by", "key_count"] });
export const sealScript = luaScript(seal, { basis: "write", flags: ["allow-oom"], needs: ["meta"], names: ["seal", "expected"] });
export const clearScript = luaScript(clear, { basis: "write", flags: ["allow-oom"], needs: ["meta", "documents"] });
