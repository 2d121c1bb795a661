-- Reads the log by revision or (ARG.narrow) by key, between ARG.after and ARG.before ('' = no end). ARG.recorded: only rows with a record; ARG.writer: '' = any.
-- Remaining arguments: ARG.kind_count kinds (-1 = any), each as the prefix of a record of that kind; the number of ranges, four arguments each for the filter and two
-- each for the keys. ARG.previous: also return the key's previous value; ARG.values_bytes_max: how many bytes of values are read ('' = any).
-- Returns: facts, how far it read ('' = to the end), then id, header, value (nil = unread), previous value. One row more than requested shows that there are others.
local limit, reverse, wanted, after = tonumber(ARG.limit), ARG.reverse == '1', ARG.values == '1', tonumber(ARG.after)
local last = math.min(revision, ARG.before ~= '' and tonumber(ARG.before) - 1 or revision)
local recorded, writer, narrow, kind_count = ARG.recorded == '1', ARG.writer, ARG.narrow == '1', tonumber(ARG.kind_count)
local with_previous, values_max, values_bytes = ARG.previous == '1', tonumber(ARG.values_bytes_max) or math.huge, 0
local out, n, count, first, previous = {facts, ''}, 2, 0, nil, nil
if last <= after then return out end
local at = ARG.rest
local kinds = {}
for i = 1, kind_count do kinds[i] = ARGV[at] at = at + 1 end
local range_count = tonumber(ARGV[at])
at = at + 1
local ranges = read_ranges(at, range_count)
local bounds_at = at + 4 * range_count
local function is_recorded(who, agent, record)
  if not recorded then return true end
  if record == '' then return false end
  if kind_count >= 0 then
    local found = false
    for i = 1, kind_count do if string.sub(record, 1, #kinds[i]) == kinds[i] then found = true break end end
    if not found then return false end
  end
  return writer == '' or who == writer or agent == writer
end
local tail = '^[^%z]*%z[^%z]*%z[^%z]*%z[^%z]*%z[^%z]*%z[^%z]*%z[^%z]*%z([^%z]*)%z([^%z]*)%z([^%z]*)%z([^%z]*)'
-- Adds a matching row; true if the page is full and there are more rows.
local function take(id, row)
  local rev = rev_of(id)
  local value, before = '', ''
  if wanted and values_bytes >= values_max then value = false
  elseif wanted then
    value = row[2][4]
    local prev = with_previous and match(row[2][2], '^[^%z]*') or ''
    local earlier = prev ~= '' and row_at(prev)
    if earlier then before = earlier[2][4] end
    values_bytes = values_bytes + #value + #before
  end
  out[n + 1], out[n + 2], out[n + 3], out[n + 4] = id, row[2][2], value, before
  n, count = n + 4, count + 1
  first = first or rev
  return count > limit and rev ~= first
end
-- A page may end only between revisions.
local function is_enough(rev)
  if previous and rev ~= previous and (steps > 3000 or bytes > CONST.reply_bytes_max) then
    out[2] = num(previous)
    return true
  end
  previous = rev
  return false
end
local function along_keys()
  -- One more than the page, and a key may have two rows in its revision: the old entry expired, and a new one was put.
  local low, high, ids, has, page = after + 1, last + 1, {}, {}, limit + 2
  for r = 0, range_count - 1 do
    local min, max = ARGV[bounds_at + 2 * r], ARGV[bounds_at + 2 * r + 1]
    if min == '=' then min, max = '['..max, '['..max end
    repeat
      local live, gone, edge = window(min, max, 100, false)
      for _, head in ipairs(heads(live, gone)) do
        local id, matching = newest_below(head, high), 0
        while id ~= '' and rev_of(id) >= low and not (reverse and matching == page) do
          if steps > 4000 or bytes > 2 * CONST.reply_bytes_max then return nil end
          local row = row_at(id)
          if not row then break end
          local prev = match(row[2][2], '^[^%z]*')
          local _, who, agent, record = match(row[2][2], tail)
          if is_recorded(who, agent, record) then
            matching = matching + 1
            if not has[id] then has[id] = true ids[#ids + 1] = id end
          end
          id = prev
        end
      end
      if edge then min = '('..edge end
      steps = steps + #live + #gone
      if steps > 4000 then return nil end
    until not edge
  end
  local scores = {}
  for i = 1, #ids do scores[ids[i]] = tonumber(score_of(ids[i])) end
  table.sort(ids, function(a, b) if reverse then a, b = b, a end return scores[a] < scores[b] end)
  return ids
end
if narrow then
  local ids = along_keys()
  steps, bytes = 0, 0
  if ids then
    for i = 1, #ids do
      if is_enough(rev_of(ids[i])) then return out end
      local row = row_at(ids[i])
      if row and take(ids[i], row) then return out end
    end
    return out
  end
end
local more = scan(after + 1, last, reverse)
while true do
  local rows, is_last = more(100)
  for i = 1, #rows do
    local id, header = rows[i][1], rows[i][2][2]
    if is_enough(rev_of(id)) then return out end
    steps, bytes = steps + 1, bytes + #rows[i][2][4]
    local key, who, agent, record = match(header, tail)
    if in_ranges(key, ranges) and is_recorded(who, agent, record) and take(id, rows[i]) then return out end
  end
  if is_last then return out end
end
