-- Entries as of the past revision ARG.at. ARG.live_at_ms: the time at which expiry is judged ('' = that revision's). Remaining arguments: ranges as for read.lua.
-- Returns: facts, the range and key to continue from, then range, id, header, value.
-- Unordered within a window of keys; JavaScript sorts. Entries as of a revision never change, so they can be read in parts.
local limit, reverse, wanted, at = tonumber(ARG.limit), ARG.reverse == '1', ARG.values == '1', tonumber(ARG.at)
local out, n, count = {facts, '', ''}, 3, 0
if at > revision or at < compacted then return out end
local judged_at = tonumber(ARG.live_at_ms)
if not judged_at then
  local newest = call('XREVRANGE', LOG, num(at), '-', 'COUNT', 1)[1]
  judged_at = compacted_at
  if newest then judged_at = math.max(judged_at, tonumber((match(newest[2][2], '^[^%z]*%z[^%z]*%z[^%z]*%z[^%z]*%z[^%z]*%z[^%z]*%z([^%z]*)')))) end
end
local function look(r, head)
  local id = newest_below(head, at + 1)
  local row = id ~= '' and row_at(id)
  if not row then return end
  local op, exp = match(row[2][2], '^[^%z]*%z[^%z]*%z([^%z]*)%z[^%z]*%z([^%z]*)')
  if op ~= 'p' or (exp ~= '' and tonumber(exp) <= judged_at) then return end
  out[n + 1], out[n + 2], out[n + 3], out[n + 4] = num(r), id, row[2][2], wanted and row[2][4] or ''
  n, count = n + 4, count + 1
end
for r = ARG.rest, #ARGV, 2 do
  local min, max = ARGV[r], ARGV[r + 1]
  if min == '=' then min, max = '['..max, '['..max end
  while true do
    local live, gone, edge = window(min, max, 32, reverse)
    for _, head in ipairs(heads(live, gone)) do look((r - ARG.rest) / 2, head) end
    if count > limit then return out end
    if not edge then break end
    if reverse then max = '('..edge else min = '('..edge end
    if steps > 3000 or bytes > CONST.reply_bytes_max then
      out[2], out[3] = num((r - ARG.rest) / 2), edge
      return out
    end
  end
end
return out
