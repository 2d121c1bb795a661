-- Loads records of another store. ARG.by: '' or the job that fills the namespace. After the keys: number of log rows, ten arguments each (id, key, op, version, expiry,
-- created, time, writer with agent, texts, value); number of key records, five each (key, present, id, version, index); number of requests, two each; then '' or the
-- facts, seven arguments.
if seal_state ~= 'filling' then return {'not filling'} end
if ARG.by ~= '' and ARG.by ~= match(m[8], '^{"state":"filling","by":"([^"]*)"') then return {'not yours'} end
if leapt then leapt, revision, base, gaps = false, tonumber(m[1] or 0), tonumber(m[6] or 0), m[7] or '' end
local keys, at = batch_keys()
load_slots(keys)
local newest = call('XREVRANGE', LOG, '+', '-', 'COUNT', 1)[1]
local newest_id = newest and newest[1] or call('ZRANGE', OLD_ORDER, -1, -1)[1] or '0-0'
local newest_score = tonumber(score_of(newest_id))
local count = tonumber(ARGV[at])
at = at + 1
for i = 1, count do
  local id, slot, op, score = ARGV[at], slots[tonumber(ARGV[at + 1])], ARGV[at + 2], tonumber(score_of(ARGV[at]))
  if score > newest_score then
    -- A tombstone that was loaded earlier with the keys may point to a later row, but a chain never points forward.
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
