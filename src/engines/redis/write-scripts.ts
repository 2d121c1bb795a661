import { limits } from "../../store/limits.ts";
import { luaScript } from "./lua-basis.ts";

/**
 * A batch of commits. After the keys: the number of commits, and of each: how many arguments follow, checks, writes, request key ('' = none),
 * then fingerprint and note if there is one, writer, agent, two arguments per check and three to six per write.
 * Answers per commit with one text ('o' done, 'k' known request key, 'u' used for something else) or a list (failed checks).
 */
export const commitScript = luaScript(
  [],
  ["meta", "epoch", "documents", "slots"],
  String.raw`
if seal_state and seal_state ~= 'copying' then return {'sealed', m[8]} end
local keys = {}
for i = 1, key_count do keys[i] = ARGV[6 + i] end
load_slots(keys)
local at = 7 + key_count
local commit_count = tonumber(ARGV[at])
if revision + commit_count > ${limits.revisionMax} then return {'full'} end
at = at + 1
local out, kept, has_known = {}, {}, false
local kept_until = num(now + ${limits.requestKeptMs})
local function is_live(slot) return slot.present and not (slot.exp and slot.exp <= now) end
local function known_request(key)
  local text = kept[key] or call('HGET', REQUESTS, key)
  if not text then return nil end
  local till, fingerprint = match(text, '^([^%z]*)%z([^%z]*)')
  if tonumber(till) <= now then return nil end
  return text, fingerprint
end
local function failed_checks(from, count)
  local failed
  for i = 0, count - 1 do
    local slot, test = slots[tonumber(ARGV[from + 2 * i])], ARGV[from + 2 * i + 1]
    local live, kind, holds = is_live(slot), string.byte(test), nil
    if kind == 118 then holds = (live and slot.ver or 0) == tonumber(string.sub(test, 2))
    elseif kind == 114 then holds = live and rev_of(slot.id) == tonumber(string.sub(test, 2))
    elseif kind == 97 then holds = not live
    else holds = live end
    if not holds then
      failed = failed or {'f', num(revision)}
      failed[#failed + 1] = i
      failed[#failed + 1] = live and header_of(slot) or ''
    end
  end
  return failed
end
local function write(op, slot, who, from)
  if slot.present and slot.exp and slot.exp <= now then expire(slot) end
  local existed = slot.present
  if op == 'd' then
    if not existed then return '0:0:' end
    finish(slot, 'd', who, ARGV[from]..'\0')
    return slot.ver..':1:'
  end
  slot.ver = math.max(slot.ver or version_floor, base) + 1
  local ttl = string.sub(op, 2)
  slot.exp = ttl ~= '' and now + ttl or nil
  if not existed then slot.created = now end
  slot.present = true
  slot.index = string.byte(op) == 105 and ARGV[from + 3] or nil
  append(slot, next_id(), 'p', who, ARGV[from]..'\0'..ARGV[from + 1], now, ARGV[from + 2])
  return slot.ver..(existed and ':1:' or ':0:')..(slot.exp or '')
end
for c = 1, commit_count do
  local length, checks, writes, request = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), ARGV[at + 3]
  local next_at, from, answer = at + length, at + 4, nil
  if request ~= '' then
    local text, fingerprint = known_request(request)
    if text then answer, has_known = fingerprint == ARGV[from] and 'k'..text or 'u'..num(revision), true end
    from = from + 2
  end
  local who = ARGV[from]..'\0'..ARGV[from + 1]
  if not answer and checks > 0 then answer = failed_checks(from + 2, checks) end
  if not answer then
    seq = 0
    from = from + 2 + 2 * checks
    local results = {}
    for w = 1, writes do
      local op = ARGV[from]
      results[w] = write(op, slots[tonumber(ARGV[from + 1])], who, from + 2)
      local kind = string.byte(op)
      from = from + (kind == 100 and 3 or kind == 105 and 6 or 5)
    end
    if seq > 0 then revision = revision + 1 end
    local done = table.concat(results, ';')
    answer = 'o'..revision..'\0'..done
    if request ~= '' then kept[request] = kept_until..'\0'..ARGV[at + 4]..'\0'..revision..'\0'..now..'\0'..done..'\0'..ARGV[at + 5] end
  end
  out[c] = answer
  at = next_at
end
if row_count > 0 then
  clock = now
  write_back()
end
for request, text in pairs(kept) do
  call('HSET', REQUESTS, request, text)
  call('ZADD', REQUEST_AGE, kept_until, request)
end
-- A wait for replicas covers what its own connection wrote: what is only told again must be confirmed, too.
if row_count > 0 or leapt or (waits and has_known) then write_meta() end
return {num(now), num(revision), out, leapt and '1' or '0'}
`,
);

/** Expired entries become history records, and old request keys go. ARGV[6]: 0; ARGV[7]: how many. */
export const sweepScript = luaScript(
  ["allow-oom"],
  ["meta", "epoch", "documents", "slots"],
  `
if seal_state and seal_state ~= 'copying' then return {'0', num(now)} end
local limit = tonumber(ARGV[7])
local old = call('ZRANGEBYSCORE', REQUEST_AGE, '-inf', num(now), 'LIMIT', 0, math.max(limit, ${limits.commitRowsMax}))
local expired = call('ZRANGEBYSCORE', EXPIRY, '-inf', num(now), 'LIMIT', 0, math.min(limit, ${limits.commitRowsMax}))
if #expired > 0 then
  if revision >= ${limits.revisionMax} then return {'0', num(now)} end
  load_slots(expired)
  for i = 1, #slots do expire(slots[i]) end
  write_back()
  revision, clock = revision + 1, now
  write_meta()
end
send('HDEL', REQUESTS, old)
send('ZREM', REQUEST_AGE, old)
return {num(#expired), num(now)}
`,
);

/** One slice of compaction. ARGV: 6 the age that is kept, 7 how many revisions, 8 how many tombstones, 9 limit. */
export const compactScript = luaScript(
  ["allow-oom"],
  ["meta"],
  String.raw`
local age, revisions, keep, limit = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
if seal_state == 'copying' then
  local till = match(m[8], '"untilMs":(%d+)')
  if till and now < tonumber(till) then return {'0', '0', num(now)} end
elseif seal_state then return {'0', '0', num(now)} end
-- The revision up to which the count of revisions lets go: gaps count for nothing.
local last, rest, pairs_of = revision, revisions, {}
for kept, above in string.gmatch(m[7] or '', '(%d+):(%d+)') do table.insert(pairs_of, 1, {tonumber(kept), tonumber(above)}) end
for i = 1, #pairs_of do
  if rest <= last - pairs_of[i][2] then break end
  rest = rest - (last - pairs_of[i][2])
  last = pairs_of[i][1]
end
last = last - rest
local aside, aside_order, gone_rows, old_gone, bytes, from, looked = {}, {}, {}, {}, 0, '-', 0
-- Deleted rows free the stream's memory only when all their neighbours are deleted, too: what a live entry needs is set aside.
local function set_aside(row)
  aside[#aside + 1] = row[1]
  aside[#aside + 1] = row[2][2]..'\0'..row[2][4]
  aside_order[#aside_order + 1] = score_of(row[1])
  aside_order[#aside_order + 1] = row[1]
end
local function is_full() return looked >= limit or bytes > ${limits.commitBytesMax} end
-- Rows that came from another store and lie below what was compacted there.
while not is_full() do
  local rows = call('XRANGE', LOG, from, num(compacted), 'COUNT', 64)
  for i = 1, #rows do
    set_aside(rows[i])
    gone_rows[#gone_rows + 1] = rows[i][1]
    looked, bytes = looked + 1, bytes + #rows[i][2][4]
  end
  if #rows < 64 then break end
  from = '('..rows[#rows][1]
end
local window, target, target_at, ended = {}, compacted, compacted_at, is_full()
from = '('..num(compacted)..'-18446744073709551615'
while not ended do
  local rows = call('XRANGE', LOG, from, '+', 'COUNT', 64)
  if #rows == 0 then break end
  for i = 1, #rows do
    local prev, op, at, key = match(rows[i][2][2], '^([^%z]*)%z[^%z]*%z([^%z]*)%z[^%z]*%z[^%z]*%z[^%z]*%z([^%z]*)%z([^%z]*)')
    local rev = rev_of(rows[i][1])
    if rev > target then
      if is_full() or (tonumber(at) >= now - age and rev > last) then ended = true break end
      target, target_at = rev, tonumber(at)
    end
    looked, bytes = looked + 1, bytes + #rows[i][2][4]
    window[#window + 1] = {rows[i], op, key, prev}
  end
  from = '('..rows[#rows][1]
end
local newest, removed = {}, 0
for i = 1, #window do newest[window[i][3]] = i end
for i = 1, #window do
  local row = window[i]
  if row[4] ~= '' and rev_of(row[4]) <= compacted then old_gone[#old_gone + 1] = row[4] end
  gone_rows[#gone_rows + 1] = row[1][1]
  if row[2] == 'p' and newest[row[3]] == i then set_aside(row[1]) else removed = removed + 1 end
end
local surplus = math.min(call('HLEN', GONE) - keep, limit)
local oldest = surplus > 0 and call('ZRANGEBYSCORE', GONE_AGE, '-inf', '('..num((math.max(target, compacted) + 1) * 256), 'LIMIT', 0, surplus) or {}
for i, text in ipairs(hmget(GONE, oldest)) do
  if text then version_floor = math.max(version_floor, tonumber(match(text, '^[^%z]*'))) end
end
local function send(command, key, args)
  local count = 0
  for i = 1, #args, 500 do count = count + call(command, key, unpack(args, i, math.min(i + 499, #args))) end
  return count
end
send('HSET', OLD, aside)
send('ZADD', OLD_ORDER, aside_order)
send('XDEL', LOG, gone_rows)
removed = removed + send('HDEL', OLD, old_gone)
send('ZREM', OLD_ORDER, old_gone)
send('HDEL', GONE, oldest)
send('ZREM', GONE_AGE, oldest)
send('ZREM', GONE_ORDER, oldest)
if target > compacted or #oldest > 0 then
  call('HSET', META, 'compacted', num(target), 'compacted_at', num(target_at), 'version_floor', num(version_floor))
end
return {num(removed), is_full() and '1' or '0', num(now)}
`,
);
