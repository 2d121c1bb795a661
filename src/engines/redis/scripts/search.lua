-- ARG.limit: the maximum number of candidates. Remaining arguments: ARG.area_count areas, then terms.
-- Returns: facts, documents, length, frequencies, then key, id, length and the weights of each hit.
-- Chooses the same terms as essentialTerms: the rarest first, as many as stay within the limit together.
local limit, area_count = tonumber(ARG.limit), tonumber(ARG.area_count)
local areas, terms, frequencies, total_documents, total_length = {}, {}, {}, 0, 0
for i = 1, area_count do
  areas[i] = ARGV[ARG.rest + i - 1]
  total_documents = total_documents + call('ZCARD', P..'da:'..areas[i])
  total_length = total_length + tonumber(call('HGET', AREAS, areas[i]) or 0)
end
local rarest = {}
for i = ARG.rest + area_count, #ARGV do
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
-- The newest documents with a common term: walks the area's newest documents, or all of the term's if those are fewer.
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
