-- Existing and deleted keys of a range, in windows: a window ends at a key (edge) and contains every key up to it, unordered.
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
-- The id of the newest row of the chain below a revision; '' if there is none.
local function newest_below(id, bound)
  while id ~= '' and rev_of(id) >= bound do
    local row = row_at(id)
    if not row then return '' end
    local prev, jump = match(row[2][2], '^([^%z]*)%z([^%z]*)')
    if jump ~= '' and rev_of(jump) >= bound then id = jump else id = prev end
  end
  return id
end
