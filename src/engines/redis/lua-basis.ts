import { createHash } from "node:crypto";
import { gapsMax, leapsSinceMs, revisionsPerMs } from "../../store/engine-rules.ts";
import { limits } from "../../store/limits.ts";
import { systemWriter } from "../../store/store.ts";

/**
 * Parts that the scripts are put together from. What every script keeps to:
 * - Lua never rolls back: everything is read and decided first, and nothing after the first write can fail;
 * - numbers go in and out as text; those that may pass 1e14 (scores) are formatted with `%.0f`, the others stay below (see `limits.revisionMax`);
 * - values are opaque text, never parsed;
 * - strings are never compared with `<`: that follows the server's locale. Order is Redis's own (bytes) or JavaScript's.
 * Fields of one record are joined by NUL, which no key, label or JSON text contains.
 */
const names = `
local P = string.sub(KEYS[1], 1, -2)
local META, ENTRIES, ORDER, EXPIRY, LOG = KEYS[1], P..'e', P..'k', P..'x', P..'l'
local GONE, GONE_AGE, GONE_ORDER = P..'g', P..'ga', P..'gk'
local REQUESTS, REQUEST_AGE = P..'q', P..'qa'
local DOCS, DOC_TERMS, AREAS = P..'d', P..'dt', P..'a'
local OLD, OLD_ORDER = P..'o', P..'oo'
local compacted = 0
local call, match, tonumber = redis.call, string.match, tonumber
local function num(n) return string.format('%.0f', n) end
local function rev_of(id) return tonumber(match(id, '^%d+')) end
local function score_of(id) local r, s = match(id, '^(%d+)-(%d+)$') return num(r * 256 + s) end
-- A row that compaction set aside, because a live entry still needs it: all its fields and the value in one text.
local ASIDE = '^('..string.rep('[^%z]*%z', 11)..'[^%z]*)%z(.*)$'
local function aside_row(id, text)
  local header, value = match(text, ASIDE)
  return {id, {'h', header, 'v', value}}
end
local function row_of(id)
  if rev_of(id) <= compacted then
    local text = call('HGET', OLD, id)
    if text then return aside_row(id, text) end
  end
  local row = call('XRANGE', LOG, id, id)[1]
  if row then return row end
  local text = call('HGET', OLD, id)
  return text and aside_row(id, text) or nil
end
local function damaged(what) return {err = 'HOLDFAST damaged '..what} end
local function hmget(key, fields)
  local n = #fields
  if n == 0 then return {} end
  if n <= 500 then return call('HMGET', key, unpack(fields)) end
  local all = {}
  for i = 1, n, 500 do
    local part = call('HMGET', key, unpack(fields, i, math.min(i + 499, n)))
    for j = 1, #part do all[i + j - 1] = part[j] end
  end
  return all
end
`;

/** ARGV[1]: the time, where a test brings its own; ARGV[2]: what this process has shown already. */
const meta = String.raw`
local m = call('HMGET', META, 'revision', 'clock', 'compacted', 'compacted_at', 'version_floor', 'base', 'gaps', 'seal', 'served_by', 'home')
local revision, clock, base = tonumber(m[1] or 0), tonumber(m[2] or 0), tonumber(m[6] or 0)
compacted = tonumber(m[3] or 0)
local compacted_at, version_floor = tonumber(m[4] or 0), tonumber(m[5] or 0)
local time = call('TIME')
local real_now = time[1] * 1000 + math.floor(time[2] / 1000)
local now = math.max(ARGV[1] ~= '' and tonumber(ARGV[1]) or real_now, clock, tonumber(ARGV[2]))
local facts = table.concat({num(now), m[1] or '0', m[2] or '0', m[3] or '0', m[4] or '0', m[5] or '0', m[6] or '0', m[7] or '', m[8] or ''}, '\0')
local seal_state = m[8] and match(m[8], '"state":"(%a+)"')
`;

/** The server that runs this, and whether the namespace's history went back since it was last written. ARGV[3]: the highest revision seen by the caller; ARGV[4]: "1" where the server forgets nothing over a restart, then "w" where the caller waits for replicas, then "c" in a cluster; ARGV[5]: where it is reached. */
const epoch = `
local server = call('INFO', 'server')
local run_id = match(server, 'run_id:(%x+)')
local seen, lasting, waits, home = tonumber(ARGV[3]), string.sub(ARGV[4], 1, 1) == '1', string.sub(ARGV[4], 2, 2) == 'w', ARGV[5]
local in_cluster = string.sub(ARGV[4], 3, 3) == 'c'
local gaps = m[7] or ''
local leapt = false
local function is_restart()
  if not lasting or m[10] ~= home then return false end
  local replication = call('INFO', 'replication')
  if not string.find(replication, 'second_repl_offset:-1', 1, true) then return false end
  return real_now - match(server, 'uptime_in_seconds:(%d+)') * 1000 + 1000 >= clock
end
if seen > revision or (revision > 0 and m[9] ~= run_id and not is_restart()) then
  -- The same as baseAbove in store/engine-rules.ts.
  base = math.max(math.max(revision, seen) + 1e8, ((ARGV[1] ~= '' and now or real_now) - ${leapsSinceMs}) * ${revisionsPerMs})
  local kept = {}
  for gap in string.gmatch(gaps..' '..num(revision)..':'..num(base), '%S+') do kept[#kept + 1] = gap end
  gaps = table.concat(kept, ' ', math.max(1, #kept - ${gapsMax - 1}))
  revision = base
  leapt = true
end
local function write_meta(...)
  call('HSET', META, 'revision', num(revision), 'clock', num(clock), 'served_by', run_id, 'home', home, ...)
  if leapt then call('HSET', META, 'base', num(base), 'gaps', gaps) end
end
`;

/** The inverted index: per area and term a hash of place → weight; per document what a hit needs, and beside it the terms, to take them out again. */
const documents = String.raw`
local function posting_key(area, term) return P..'t:'..area..':'..term end
local function remove_document(id)
  local text = call('HGET', DOC_TERMS, id)
  if not text then return end
  local area, length, rest = match(text, '^([^%z]*)%z([^%z]*)%z?(.*)$')
  for term in string.gmatch(rest, '([^%z]*)%z[^%z]*%z?') do call('HDEL', posting_key(area, term), id) end
  call('HDEL', DOCS, id)
  call('HDEL', DOC_TERMS, id)
  call('ZREM', P..'da:'..area, id)
  call('HINCRBY', AREAS, area, num(0 - length))
end
local function add_document(id, key, exp, text)
  local area, length, rest = match(text, '^([^%z]*)%z([^%z]*)%z?(.*)$')
  for term, weight in string.gmatch(rest, '([^%z]*)%z([^%z]*)%z?') do call('HSET', posting_key(area, term), id, weight) end
  call('HSET', DOCS, id, (exp and num(exp) or '')..'\0'..length..'\0'..key)
  call('HSET', DOC_TERMS, id, text)
  call('ZADD', P..'da:'..area, score_of(id), id)
  call('HINCRBY', AREAS, area, length)
end
`;

/**
 * What lies under the keys of a batch: read once, changed in memory, written back once. ARGV[6]: how many keys; then the keys.
 * An entry: id of its newest log row, anchor, version, created, expiry, time, findable, writer, agent. What is gone: version, id, anchor.
 */
const slots = String.raw`
local key_count = tonumber(ARGV[6])
local slots, rows, row_count, seq = {}, {}, 0, 0
local function load_slots(keys)
  local found = hmget(ENTRIES, keys)
  local absent, absent_keys = {}, {}
  for i = 1, #keys do
    local header = found[i]
    if header then
      local id, anchor, ver, created, exp, at, findable, who = match(header, '^([^%z]*)%z([^%z]*)%z([^%z]*)%z([^%z]*)%z([^%z]*)%z([^%z]*)%z([^%z]*)%z(.*)$')
      exp = tonumber(exp)
      slots[i] = {key = keys[i], stored = true, present = true, id = id, id0 = id, anchor = anchor, ver = tonumber(ver), created = created, exp = exp, exp0 = exp, at = at, findable0 = findable == '1', findable = findable, who = who, changed = false}
    else
      local slot = {key = keys[i], stored = false, present = false, id = '', id0 = '', anchor = '', ver = nil, created = '0', exp = nil, exp0 = nil, at = '0', findable0 = false, findable = '', who = '', changed = false}
      slots[i] = slot
      absent[#absent + 1] = slot
      absent_keys[#absent_keys + 1] = keys[i]
    end
  end
  if #absent > 0 and call('EXISTS', GONE) == 1 then
    local gone = hmget(GONE, absent_keys)
    for i, slot in ipairs(absent) do
      if gone[i] then
        local ver, id, anchor = match(gone[i], '^([^%z]*)%z([^%z]*)%z([^%z]*)$')
        slot.has_tombstone, slot.ver, slot.id, slot.anchor = true, tonumber(ver), id, anchor
      end
    end
  end
end
local function append(slot, id, op, who, texts, at, json)
  local prev, jump = slot.id, ''
  if op == 'p' and slot.ver % 128 == 0 then
    jump = slot.anchor
    slot.anchor = id
  end
  slot.id, slot.at, slot.who, slot.json, slot.changed = id, at, who, json, true
  row_count = row_count + 1
  rows[row_count] = {id, prev..'\0'..jump..'\0'..op..'\0'..slot.ver..'\0'..(op == 'p' and slot.exp or '')..'\0'..slot.created..'\0'..at..'\0'..slot.key..'\0'..who..'\0'..texts, json}
end
local function next_id()
  local id = (revision + 1)..'-'..seq
  seq = seq + 1
  return id
end
local function finish(slot, op, who, texts)
  slot.present, slot.index = false, nil
  append(slot, next_id(), op, who, texts, now, '')
  slot.exp = nil
end
local function expire(slot)
  local row = row_of(slot.id)
  local lapse = row and match(row[2][2], '^.*%z(.*)$') or ''
  finish(slot, 'x', '${systemWriter}\0', lapse..'\0')
end
local function header_of(slot)
  return slot.id..'\0'..slot.anchor..'\0'..slot.ver..'\0'..slot.created..'\0'..(slot.exp or '')..'\0'..slot.at..'\0'..slot.findable..'\0'..slot.who
end
local function send(command, key, args)
  for i = 1, #args, 500 do call(command, key, unpack(args, i, math.min(i + 499, #args))) end
end
-- In a slot on its way to another node a key that is not here may not be touched: better found out before the first write.
local function touch_documents()
  local keys = {META}
  local function add(text)
    local area, rest = match(text, '^([^%z]*)%z[^%z]*%z?(.*)$')
    keys[#keys + 1] = P..'da:'..area
    for term in string.gmatch(rest, '([^%z]*)%z[^%z]*%z?') do keys[#keys + 1] = posting_key(area, term) end
  end
  for i = 1, #slots do
    local slot = slots[i]
    if slot.changed and slot.findable0 then add(call('HGET', DOC_TERMS, slot.id0) or '') end
    if slot.changed and slot.index then add(slot.index) end
  end
  for i = 1, #keys, 500 do call('EXISTS', META, unpack(keys, i, math.min(i + 499, #keys))) end
end
local function write_back()
  if in_cluster then touch_documents() end
  for i = 1, row_count do
    local row = rows[i]
    call('XADD', LOG, row[1], 'h', row[2], 'v', row[3])
  end
  local puts, order, removed, gone, gone_age, gone_order, risen, expiries, unexpired = {}, {}, {}, {}, {}, {}, {}, {}, {}
  for i = 1, #slots do
    local slot = slots[i]
    if slot.changed then
      slot.findable = ''
      if slot.index then
        if slot.findable0 and slot.id == slot.id0 then
          remove_document(slot.id0)
          slot.findable0 = false
        end
        add_document(slot.id, slot.key, slot.exp, slot.index)
        slot.findable = '1'
      end
      if slot.present then
        local n = #puts
        puts[n + 1], puts[n + 2] = slot.key, header_of(slot)
        if not slot.stored then order[#order + 1] = '0' order[#order + 1] = slot.key end
        if slot.exp and slot.exp ~= slot.exp0 then expiries[#expiries + 1] = num(slot.exp) expiries[#expiries + 1] = slot.key end
        if slot.has_tombstone then risen[#risen + 1] = slot.key end
      else
        if slot.stored then removed[#removed + 1] = slot.key end
        gone[#gone + 1] = slot.key
        gone[#gone + 1] = slot.ver..'\0'..slot.id..'\0'..slot.anchor
        gone_age[#gone_age + 1] = score_of(slot.id)
        gone_age[#gone_age + 1] = slot.key
        gone_order[#gone_order + 1] = '0'
        gone_order[#gone_order + 1] = slot.key
      end
      if slot.exp0 and not slot.exp then unexpired[#unexpired + 1] = slot.key end
    end
  end
  -- What is added goes before what is taken away: a key that becomes empty is gone, and in a slot on its way it could not be made anew.
  send('HSET', ENTRIES, puts)
  send('ZADD', ORDER, order)
  send('ZADD', EXPIRY, expiries)
  send('HSET', GONE, gone)
  send('ZADD', GONE_AGE, gone_age)
  send('ZADD', GONE_ORDER, gone_order)
  send('HDEL', ENTRIES, removed)
  send('ZREM', ORDER, removed)
  send('ZREM', EXPIRY, unexpired)
  send('HDEL', GONE, risen)
  send('ZREM', GONE_AGE, risen)
  send('ZREM', GONE_ORDER, risen)
  for i = 1, #slots do if slots[i].changed and slots[i].findable0 then remove_document(slots[i].id0) end end
end
`;

/** Keys of a range, those that are there and those that were, window by window: a window ends at a key (`edge`), and is all there is up to it. Unordered inside. */
const windows = `
local function window(min, max, size, reverse)
  local range = reverse and 'ZREVRANGEBYLEX' or 'ZRANGEBYLEX'
  local function keys(set, edge, count)
    local from, to = min, max
    if edge then if reverse then from = '['..edge else to = '['..edge end end
    if reverse then from, to = to, from end
    return call(range, set, from, to, 'LIMIT', 0, count)
  end
  local live = keys(ORDER, nil, size)
  local edge = #live == size and live[size] or nil
  local gone = keys(GONE_ORDER, edge, size + 1)
  if #gone > size then
    edge = gone[size]
    gone[size + 1] = nil
    live = keys(ORDER, edge, size)
  end
  return live, gone, edge
end
local function heads(live, gone)
  local ids = {}
  for i, header in ipairs(hmget(ENTRIES, live)) do ids[#ids + 1] = header and match(header, '^[^%z]*') or '' end
  for i, text in ipairs(hmget(GONE, gone)) do ids[#ids + 1] = text and match(text, '^[^%z]*%z([^%z]*)') or '' end
  return ids
end
local steps, bytes = 0, 0
local function row_at(id)
  local row = row_of(id)
  steps = steps + 1
  if row then bytes = bytes + #row[2][4] end
  return row
end
-- The newest row of the chain below a revision: its id, '' when there is none.
local function newest_below(id, bound)
  while id ~= '' and rev_of(id) >= bound do
    local row = row_at(id)
    if not row then return '' end
    local prev, jump = match(row[2][2], '^([^%z]*)%z([^%z]*)')
    if jump ~= '' and rev_of(jump) >= bound then id = jump else id = prev end
  end
  return id
end
`;

/** Rows of a range of revisions, in order and in pieces, each with whether it is the last: what compaction set aside lies below what is in the stream. */
const scan = `
local function scan(low, high, reverse)
  local from, to, min, max = num(low)..'-0', num(high), num(low * 256), num(high * 256 + 255)
  local has_aside = low <= compacted
  local stage = has_aside and not reverse and 'aside' or 'stream'
  return function(count)
    local rows, last_id = {}, nil
    if stage == 'aside' then
      local ids = reverse and call('ZRANGE', OLD_ORDER, max, min, 'BYSCORE', 'REV', 'LIMIT', 0, count) or call('ZRANGE', OLD_ORDER, min, max, 'BYSCORE', 'LIMIT', 0, count)
      for i, text in ipairs(hmget(OLD, ids)) do
        if not text then error(damaged('a row of the log')) end
        rows[i] = aside_row(ids[i], text)
      end
      last_id = ids[#ids]
    else
      rows = reverse and call('XREVRANGE', LOG, to, from, 'COUNT', count) or call('XRANGE', LOG, from, to, 'COUNT', count)
      last_id = rows[1] and rows[#rows][1]
    end
    if #rows < count then
      if stage == 'stream' then stage = has_aside and reverse and 'aside' or 'end' else stage = reverse and 'end' or 'stream' end
    elseif stage == 'aside' then
      if reverse then max = '('..score_of(last_id) else min = '('..score_of(last_id) end
    elseif reverse then to = '('..last_id else from = '('..last_id end
    return rows, stage == 'end'
  end
end
`;

/** Is a key in a range, and is a row asked for? By bytes, and without the part that start and end have in common. */
const filters = `
local function below(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end
-- Ranges as four arguments each: '*'; '=' key; 'r' common start end; 'f' '' start (no end).
local function read_ranges(from, count)
  local ranges = {}
  for i = 1, count do
    local at = from + (i - 1) * 4
    ranges[i] = {ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], #ARGV[at + 1]}
  end
  return ranges
end
local function in_ranges(key, ranges)
  for i = 1, #ranges do
    local range = ranges[i]
    local kind = range[1]
    if kind == '*' then return true end
    if kind == '=' then
      if key == range[2] then return true end
    elseif string.sub(key, 1, range[5]) == range[2] then
      local rest = string.sub(key, range[5] + 1)
      if not below(rest, range[3]) and (kind == 'f' or below(rest, range[4])) then return true end
    end
  end
  return false
end
`;

const parts = { meta, epoch, documents, slots, windows, scan, filters } as const;

export interface Script {
  readonly text: string;
  /** By which a server that has seen the text knows it. */
  readonly sha: string;
}

/** One script: what it may do, the parts it needs, its own text. */
export function luaScript(flags: readonly ("no-writes" | "allow-oom")[], needs: readonly (keyof typeof parts)[], body: string): Script {
  const text = `#!lua${flags.length === 0 ? "" : ` flags=${flags.join(",")}`}\n${names}${needs.map((name) => parts[name]).join("")}${body}`;
  return { text, sha: createHash("sha1").update(text).digest("hex") };
}

/** In bytes: where a script stops collecting values, so that none keeps Redis busy for long. */
export const replyBytesMax = limits.commitBytesMax;
