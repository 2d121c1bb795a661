import { limits } from "../../store/limits.ts";
import { luaScript, replyBytesMax } from "./lua-basis.ts";

const storedKey = `
-- Key, 1 or 0 for there or gone, id, version, index.
local function put_key(out, key, entry, gone)
  local n = #out
  if entry then
    local id, ver, findable = match(entry, '^([^%z]*)%z[^%z]*%z([^%z]*)%z[^%z]*%z[^%z]*%z[^%z]*%z([^%z]*)')
    local index = findable == '1' and call('HGET', DOC_TERMS, id) or ''
    out[n + 1], out[n + 2], out[n + 3], out[n + 4], out[n + 5] = key, '1', id, ver, index
    bytes = bytes + #index + 100
  elseif gone then
    local ver, id = match(gone, '^([^%z]*)%z([^%z]*)')
    out[n + 1], out[n + 2], out[n + 3], out[n + 4], out[n + 5] = key, '0', id, ver, ''
    bytes = bytes + 100
  end
end
`;

/** ARGV: 3 after, 4 '1' = with the keys that the rows touch. Answers: facts, done, rows (id, header, value), keys. Whole revisions. */
export const dumpLogScript = luaScript(
  ["no-writes"],
  ["meta", "scan"],
  `
local bytes = 0
${storedKey}
local rows, keys, touched, order, previous = {}, {}, {}, {}, nil
local more = scan(tonumber(ARGV[3]) + 1, revision, false)
while true do
  local found, is_last = more(50)
  for i = 1, #found do
    local id, header, value = found[i][1], found[i][2][2], found[i][2][4]
    local rev = rev_of(id)
    if rev ~= previous and (#rows >= ${3 * limits.dumpRecordsMax} or bytes > ${replyBytesMax}) then return {facts, '0', rows, keys} end
    previous = rev
    local n = #rows
    rows[n + 1], rows[n + 2], rows[n + 3] = id, header, value
    bytes = bytes + #value + 256
    if ARGV[4] == '1' then
      local key = match(header, '^[^%z]*%z[^%z]*%z[^%z]*%z[^%z]*%z[^%z]*%z[^%z]*%z[^%z]*%z([^%z]*)')
      if not touched[key] then
        touched[key] = true
        put_key(keys, key, call('HGET', ENTRIES, key), call('HGET', GONE, key))
      end
    end
  end
  if is_last then return {facts, '1', rows, keys} end
end
`,
);

/** ARGV[3]: the lower bound of the keys. Answers: facts, done, keys; unordered inside, all of them up to the last. */
export const dumpKeysScript = luaScript(
  ["no-writes"],
  ["meta", "windows"],
  `
${storedKey}
local keys, min = {}, ARGV[3]
while true do
  local live, gone, edge = window(min, '+', 50, false)
  local entries, tombstones = hmget(ENTRIES, live), hmget(GONE, gone)
  for i = 1, #live do put_key(keys, live[i], entries[i], false) end
  for i = 1, #gone do put_key(keys, gone[i], false, tombstones[i]) end
  if not edge then return {facts, '1', keys} end
  if #keys >= ${5 * limits.dumpRecordsMax} or bytes > ${replyBytesMax} then return {facts, '0', keys} end
  min = '('..edge
end
`,
);

/** ARGV: 3 kept until, 4 the key ('' = from the first). Answers: facts, done, keys with their records, in the order in which they are forgotten. */
export const dumpRequestsScript = luaScript(
  ["no-writes"],
  ["meta"],
  `
local out, bytes = {}, 0
local rank = ARGV[4] ~= '' and call('ZSCORE', REQUEST_AGE, ARGV[4]) == ARGV[3] and call('ZRANK', REQUEST_AGE, ARGV[4]) + 1
-- A key that is gone meanwhile: all of its moment come again, and JavaScript leaves out those before it.
if not rank then rank = call('ZCOUNT', REQUEST_AGE, '-inf', '('..ARGV[3]) end
while true do
  local keys = call('ZRANGE', REQUEST_AGE, rank, rank + 99)
  local texts = hmget(REQUESTS, keys)
  for i = 1, #keys do
    local n = #out
    out[n + 1], out[n + 2] = keys[i], texts[i] or ''
    bytes = bytes + #keys[i] + #out[n + 2] + 256
  end
  if #keys < 100 then return {facts, '1', out} end
  if #out >= ${2 * limits.dumpRecordsMax} or bytes > ${replyBytesMax} then return {facts, '0', out} end
  rank = rank + 100
end
`,
);

/**
 * Records of another store. After the keys: number of log rows, ten arguments each (id, key, op, version, expiry, created, time, writer with agent, texts, value);
 * number of key records, five each (key, there, id, version, index); number of requests, two each; then '' or the facts, seven arguments. The last one: '' or who fills the namespace.
 */
export const loadScript = luaScript(
  [],
  ["meta", "epoch", "documents", "slots"],
  `
if seal_state ~= 'filling' then return {'not filling'} end
if ARGV[#ARGV] ~= '' and ARGV[#ARGV] ~= match(m[8], '^{"state":"filling","by":"([^"]*)"') then return {'not yours'} end
if leapt then leapt, revision, base, gaps = false, tonumber(m[1] or 0), tonumber(m[6] or 0), m[7] or '' end
local keys = {}
for i = 1, key_count do keys[i] = ARGV[6 + i] end
load_slots(keys)
local at = 7 + key_count
local newest = call('XREVRANGE', LOG, '+', '-', 'COUNT', 1)[1]
local newest_id = newest and newest[1] or call('ZRANGE', OLD_ORDER, -1, -1)[1] or '0-0'
local newest_score = tonumber(score_of(newest_id))
local count = tonumber(ARGV[at])
at = at + 1
for i = 1, count do
  local id, slot, op, score = ARGV[at], slots[tonumber(ARGV[at + 1])], ARGV[at + 2], tonumber(score_of(ARGV[at]))
  if score > newest_score then
    -- A tombstone that came ahead with the keys may point to a later row: a chain never leads forward.
    if slot.id ~= '' and tonumber(score_of(slot.id)) >= score then slot.id = '' end
    if slot.anchor ~= '' and tonumber(score_of(slot.anchor)) >= score then slot.anchor = '' end
    slot.ver, slot.exp, slot.created, slot.present, slot.index = tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4]), ARGV[at + 5], op == 'p', nil
    append(slot, id, op, ARGV[at + 7], ARGV[at + 8], ARGV[at + 6], ARGV[at + 9])
    if op ~= 'p' then slot.exp = nil end
    newest_score, newest_id = score, id
    revision, clock = math.max(revision, rev_of(id)), math.max(clock, tonumber(ARGV[at + 6]))
  elseif not row_of(id) then return {'order', id, newest_id} end
  at = at + 10
end
count = tonumber(ARGV[at])
at = at + 1
for i = 1, count do
  local slot, there, id, index = slots[tonumber(ARGV[at])], ARGV[at + 1] == '1', ARGV[at + 2], ARGV[at + 4]
  if there then
    if slot.present and slot.id == id then
      slot.index, slot.changed = index ~= '' and index or nil, true
    end
  elseif not slot.present and not slot.has_tombstone and not slot.changed then
    slot.id, slot.ver, slot.anchor, slot.changed = id, tonumber(ARGV[at + 3]), '', true
  end
  at = at + 5
end
write_back()
count = tonumber(ARGV[at])
at = at + 1
for i = 1, count do
  call('HSET', REQUESTS, ARGV[at], ARGV[at + 1])
  call('ZADD', REQUEST_AGE, match(ARGV[at + 1], '^[^%z]*'), ARGV[at])
  at = at + 2
end
if ARGV[at] == '' then write_meta()
else
  call('HSET', META, 'revision', ARGV[at], 'clock', ARGV[at + 1], 'compacted', ARGV[at + 2], 'compacted_at', ARGV[at + 3], 'version_floor', ARGV[at + 4], 'base', ARGV[at + 5], 'gaps', ARGV[at + 6],
    'served_by', run_id, 'home', home)
end
return {'ok'}
`,
);

/** ARGV[6]: the seal as JSON, its state first; '' takes it away. ARGV[7]: the one that must be there, or ''. Also where Redis is full: what is sealed is on its way out. */
export const sealScript = luaScript(
  ["allow-oom"],
  ["meta"],
  `
if (m[8] or '') ~= ARGV[7] then return {'other', m[8] or ''} end
if ARGV[6] == '' then call('HDEL', META, 'seal') else call('HSET', META, 'seal', ARGV[6]) end
return {'ok'}
`,
);

/** One slice of clearing: documents first, since each has keys of its own; with the last slice everything else, and the seal. */
export const clearScript = luaScript(
  ["allow-oom"],
  ["meta", "documents"],
  `
if seal_state ~= 'filling' then return {'not filling'} end
local budget = 20
for _, area in ipairs(call('HKEYS', AREAS)) do
  for _, id in ipairs(call('ZRANGE', P..'da:'..area, 0, budget - 1)) do
    remove_document(id)
    budget = budget - 1
  end
  if budget == 0 then return {'more'} end
end
call('UNLINK', ENTRIES, ORDER, EXPIRY, LOG, GONE, GONE_AGE, GONE_ORDER, REQUESTS, REQUEST_AGE, DOCS, DOC_TERMS, AREAS, OLD, OLD_ORDER)
call('DEL', META)
return {'ok'}
`,
);
