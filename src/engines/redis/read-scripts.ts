import { luaScript, replyBytesMax } from "./lua-basis.ts";

/**
 * Live entries. ARGV: 3 limit, 4 reverse, 5 values, 6 how many keys to look at, 7… ranges as two arguments each: the bounds of a lexical range, or '=' and one key.
 * Answers: facts, more, the range and the key where it stopped looking ('' = nowhere), then key, header and value (nil = to be fetched by its place).
 */
export const readScript = luaScript(
  ["no-writes"],
  ["meta"],
  `
local limit, reverse, wanted, looks = tonumber(ARGV[3]), ARGV[4] == '1', ARGV[5] == '1', tonumber(ARGV[6])
local out, n, bytes, count, more = {facts, '0', '', ''}, 4, 0, 0, false
local function take(key, header)
  local id, exp = match(header, '^([^%z]*)%z[^%z]*%z[^%z]*%z[^%z]*%z([^%z]*)')
  if exp ~= '' and tonumber(exp) <= now then return end
  if count == limit then more = true return end
  local value = ''
  if wanted then
    if bytes > ${replyBytesMax} then value = false else
      local row = row_of(id)
      if not row then error(damaged('an entry without its value')) end
      value = row[2][4]
      bytes = bytes + #value
    end
  end
  out[n + 1], out[n + 2], out[n + 3] = key, header, value
  n, count = n + 3, count + 1
end
for r = 7, #ARGV, 2 do
  local min, max = ARGV[r], ARGV[r + 1]
  if min == '=' then
    local header = call('HGET', ENTRIES, max)
    if header then take(max, header) end
  else
    while not more do
      local size = math.min(limit - count + 1, 200)
      local keys = reverse and call('ZREVRANGEBYLEX', ORDER, max, min, 'LIMIT', 0, size) or call('ZRANGEBYLEX', ORDER, min, max, 'LIMIT', 0, size)
      local headers = hmget(ENTRIES, keys)
      for i = 1, #keys do
        if not headers[i] then error(damaged('a key without its entry')) end
        take(keys[i], headers[i])
        if more then break end
      end
      if #keys < size then break end
      if reverse then max = '('..keys[#keys] else min = '('..keys[#keys] end
      looks = looks - #keys
      if looks <= 0 and not more then
        out[3], out[4] = num((r - 7) / 2), keys[#keys]
        return out
      end
    end
  end
  if more then break end
end
out[2] = more and '1' or '0'
return out
`,
);

/** Log rows by their ids: values that a reply had no room for. */
export const valuesScript = luaScript(
  ["no-writes"],
  [],
  `
local out, bytes = {}, 0
for i = 1, #ARGV do
  local row = row_of(ARGV[i])
  if not row then return out end
  out[i] = row[2][4]
  bytes = bytes + #out[i]
  if bytes > ${replyBytesMax} then return out end
end
return out
`,
);

/**
 * Entries as of a past revision. ARGV: 3 limit, 4 reverse, 5 values, 6 at, 7 the time by which expiry is judged ('' = that revision's), 8… ranges as for reading.
 * Answers: facts, the range and key to continue from, then range, id, header, value.
 * Unordered inside a window of keys: JavaScript sorts. What was there at a revision never changes, so an answer may be asked for in pieces.
 */
export const pastScript = luaScript(
  ["no-writes"],
  ["meta", "windows"],
  `
local limit, reverse, wanted, at = tonumber(ARGV[3]), ARGV[4] == '1', ARGV[5] == '1', tonumber(ARGV[6])
local out, n, count = {facts, '', ''}, 3, 0
if at > revision or at < compacted then return out end
local judged_at = tonumber(ARGV[7])
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
for r = 8, #ARGV, 2 do
  local min, max = ARGV[r], ARGV[r + 1]
  if min == '=' then min, max = '['..max, '['..max end
  while true do
    local live, gone, edge = window(min, max, 32, reverse)
    for _, head in ipairs(heads(live, gone)) do look((r - 8) / 2, head) end
    if count > limit then return out end
    if not edge then break end
    if reverse then max = '('..edge else min = '('..edge end
    if steps > 3000 or bytes > ${replyBytesMax} then
      out[2], out[3] = num((r - 8) / 2), edge
      return out
    end
  end
end
return out
`,
);

/** ARGV: 3 one lexical range's start, 4 its end, 5… the same range for the filter. What is expired and not yet swept does not count. */
export const countScript = luaScript(
  ["no-writes"],
  ["meta", "filters"],
  `
local count = call('ZLEXCOUNT', ORDER, ARGV[3], ARGV[4])
local ranges = read_ranges(5, 1)
for from = 0, math.huge, 1000 do
  local expired = call('ZRANGEBYSCORE', EXPIRY, '-inf', num(now), 'LIMIT', from, 1000)
  for i = 1, #expired do if in_ranges(expired[i], ranges) then count = count - 1 end end
  if #expired < 1000 then break end
end
return {facts, num(count)}
`,
);

/** ARGV[3]: a request key. */
export const requestScript = luaScript(
  ["no-writes"],
  ["meta"],
  `
local text = call('HGET', REQUESTS, ARGV[3])
if text and tonumber(match(text, '^[^%z]*')) <= now then text = false end
return {facts, text}
`,
);

/** Where a namespace stands, and how much there is of it. */
export const changeMarkScript = luaScript(
  ["no-writes"],
  ["meta"],
  "return {facts, num(call('XLEN', LOG) + call('HLEN', OLD)), num(call('ZCARD', ORDER)), num(call('HLEN', GONE)), num(call('HLEN', REQUESTS)), num(real_now)}",
);

/**
 * The log by revision or (narrow) by key. ARGV: 3 limit, 4 reverse, 5 values, 6 after, 7 before ('' = none), 8 recorded ('1'), 9 writer ('' = any), 10 narrow,
 * 11 number of kinds (-1 = any) and the kinds, each as a record of that kind begins; then the number of ranges, four arguments each for the filter and two each for the keys.
 * Answers: facts, how far it looked ('' = to the end), then id, header, value. A row more than asked for tells that there is more.
 */
export const logScript = luaScript(
  ["no-writes"],
  ["meta", "filters", "windows", "scan"],
  `
local limit, reverse, wanted, after = tonumber(ARGV[3]), ARGV[4] == '1', ARGV[5] == '1', tonumber(ARGV[6])
local last = math.min(revision, ARGV[7] ~= '' and tonumber(ARGV[7]) - 1 or revision)
local recorded, writer, narrow, kind_count = ARGV[8] == '1', ARGV[9], ARGV[10] == '1', tonumber(ARGV[11])
local out, n, count, first, previous = {facts, ''}, 2, 0, nil, nil
if last <= after then return out end
local at = 12
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
-- Takes a matching row; true when the page is full and shows that there is more.
local function take(id, row)
  local rev = rev_of(id)
  out[n + 1], out[n + 2], out[n + 3] = id, row[2][2], wanted and row[2][4] or ''
  n, count = n + 3, count + 1
  first = first or rev
  return count > limit and rev ~= first
end
-- Rows are only let go of between revisions.
local function is_enough(rev)
  if previous and rev ~= previous and (steps > 3000 or bytes > ${replyBytesMax}) then
    out[2] = num(previous)
    return true
  end
  previous = rev
  return false
end
local function along_keys()
  -- One more than the page, and a key may have two rows in its revision: what was there lapsed, and something new was put.
  local low, high, ids, has, page = after + 1, last + 1, {}, {}, limit + 2
  for r = 0, range_count - 1 do
    local min, max = ARGV[bounds_at + 2 * r], ARGV[bounds_at + 2 * r + 1]
    if min == '=' then min, max = '['..max, '['..max end
    repeat
      local live, gone, edge = window(min, max, 100, false)
      for _, head in ipairs(heads(live, gone)) do
        local id, matching = newest_below(head, high), 0
        while id ~= '' and rev_of(id) >= low and not (reverse and matching == page) do
          if steps > 4000 or bytes > ${2 * replyBytesMax} then return nil end
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
`,
);

/**
 * ARGV: 3 how many candidates, 4 number of areas, areas, terms. Answers: facts, documents, length, frequencies, then key, id, length and the weights of each hit.
 * The same choice of terms as `essentialTerms`: the rarest first, as many as stay within the limit together.
 */
export const searchScript = luaScript(
  ["no-writes"],
  ["meta", "documents"],
  `
local limit, area_count = tonumber(ARGV[3]), tonumber(ARGV[4])
local areas, terms, frequencies, total_documents, total_length = {}, {}, {}, 0, 0
for i = 1, area_count do
  areas[i] = ARGV[4 + i]
  total_documents = total_documents + call('ZCARD', P..'da:'..areas[i])
  total_length = total_length + tonumber(call('HGET', AREAS, areas[i]) or 0)
end
local rarest = {}
for i = 5 + area_count, #ARGV do
  local t = #terms + 1
  terms[t], frequencies[t] = ARGV[i], 0
  for a = 1, area_count do frequencies[t] = frequencies[t] + call('HLEN', posting_key(areas[a], terms[t])) end
  if frequencies[t] > 0 then rarest[#rarest + 1] = t end
end
table.sort(rarest, function(a, b) if frequencies[a] ~= frequencies[b] then return frequencies[a] < frequencies[b] end return a < b end)
local candidates, has, expected = {}, {}, 0
local function add(id)
  if has[id] then return end
  has[id] = true
  candidates[#candidates + 1] = id
end
-- The newest documents with a common term: by walking the area's newest, or all of the term's when those are fewer.
local function newest_with(area, term, frequency)
  local key, size, found = posting_key(area, term), call('ZCARD', P..'da:'..area), {}
  if frequency <= limit or frequency * frequency < limit * size then
    found = call('HKEYS', key)
  else
    for from = 0, size, 500 do
      local ids = call('ZREVRANGE', P..'da:'..area, from, from + 499)
      if #ids == 0 then break end
      for i, weight in ipairs(call('HMGET', key, unpack(ids))) do if weight then found[#found + 1] = ids[i] end end
      if #found >= limit then break end
    end
  end
  return found
end
for i, t in ipairs(rarest) do
  if i > 1 and expected + frequencies[t] > limit then break end
  expected = expected + frequencies[t]
  if frequencies[t] <= limit then
    for a = 1, area_count do for _, id in ipairs(call('HKEYS', posting_key(areas[a], terms[t]))) do add(id) end end
  else
    local ids, scores = {}, {}
    for a = 1, area_count do
      local frequency = call('HLEN', posting_key(areas[a], terms[t]))
      if frequency > 0 then for _, id in ipairs(newest_with(areas[a], terms[t], frequency)) do
        ids[#ids + 1] = id
        scores[id] = tonumber(score_of(id))
      end end
    end
    table.sort(ids, function(a, b) return scores[a] > scores[b] end)
    for j = 1, math.min(limit, #ids) do add(ids[j]) end
  end
end
local out = {facts, num(total_documents), num(total_length)}
for t = 1, #terms do out[#out + 1] = num(frequencies[t]) end
local found = hmget(DOCS, candidates)
local weights = {}
for t = 1, #terms do
  weights[t] = {}
  if frequencies[t] > 0 then
    for a = 1, area_count do
      for i, weight in ipairs(hmget(posting_key(areas[a], terms[t]), candidates)) do if weight then weights[t][i] = weight end end
    end
  end
end
for i = 1, #candidates do
  if not found[i] then error(damaged('a search term without its document')) end
  local exp, length, key = match(found[i], '^([^%z]*)%z([^%z]*)%z(.*)$')
  if exp == '' or tonumber(exp) > now then
    local n = #out
    out[n + 1], out[n + 2], out[n + 3] = key, candidates[i], length
    for t = 1, #terms do out[n + 3 + t] = weights[t][i] or '0' end
  end
end
return out
`,
);
