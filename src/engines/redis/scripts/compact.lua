-- One slice of compaction. Keeps history within ARG.age_ms, ARG.revisions and ARG.tombstones; ARG.limit: the number of rows to examine.
local age, revisions, keep, limit = tonumber(ARG.age_ms), tonumber(ARG.revisions), tonumber(ARG.tombstones), tonumber(ARG.limit)
if seal_state == 'copying' then
  local till = match(m[8], '"untilMs":(%d+)')
  if till and now < tonumber(till) then return {'0', '0', num(now)} end
elseif seal_state then return {'0', '0', num(now)} end
-- The last revision that the policy's number of revisions releases; gaps do not count.
local last, rest, pairs_of = revision, revisions, {}
for kept, above in string.gmatch(m[7] or '', '(%d+):(%d+)') do table.insert(pairs_of, 1, {tonumber(kept), tonumber(above)}) end
for i = 1, #pairs_of do
  if rest <= last - pairs_of[i][2] then break end
  rest = rest - (last - pairs_of[i][2])
  last = pairs_of[i][1]
end
last = last - rest
local aside, aside_order, gone_rows, old_gone, bytes, from, looked = {}, {}, {}, {}, 0, '-', 0
-- Deleted rows free the stream's memory only when all their neighbours are deleted too, so rows that live entries need are moved aside.
local function set_aside(row)
  aside[#aside + 1] = row[1]
  aside[#aside + 1] = row[2][2]..'\0'..row[2][4]
  aside_order[#aside_order + 1] = score_of(row[1])
  aside_order[#aside_order + 1] = row[1]
end
local function is_full() return looked >= limit or bytes > CONST.commit_bytes_max end
-- Rows that were loaded from another store and are below its compacted revision.
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
local oldest = surplus > 0 and call('ZRANGEBYSCORE', GONE_AGE, '-inf', '('..num((math.max(target, compacted) + 1) * CONST.seq_count), 'LIMIT', 0, surplus) or {}
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
