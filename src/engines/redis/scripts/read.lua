-- Live entries. ARG.looks: how many keys to examine. Remaining arguments: ranges as two arguments each, the bounds of a lexical range, or '=' and one key.
-- Returns: facts, more, the range and the key where it stopped ('' = nowhere), then key, header and value (nil = to be fetched by its position).
local limit, reverse, wanted, looks = tonumber(ARG.limit), ARG.reverse == '1', ARG.values == '1', tonumber(ARG.looks)
local out, n, bytes, count, more = {facts, '0', '', ''}, 4, 0, 0, false
local function take(key, header)
  local id, exp = match(header, '^([^%z]*)%z[^%z]*%z[^%z]*%z[^%z]*%z([^%z]*)')
  if exp ~= '' and tonumber(exp) <= now then return end
  if count == limit then more = true return end
  local value = ''
  if wanted then
    if bytes > CONST.reply_bytes_max then value = false else
      local row = row_of(id)
      if not row then error(damaged('an entry without its value')) end
      value = row[2][4]
      bytes = bytes + #value
    end
  end
  out[n + 1], out[n + 2], out[n + 3] = key, header, value
  n, count = n + 3, count + 1
end
for r = ARG.rest, #ARGV, 2 do
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
        out[3], out[4] = num((r - ARG.rest) / 2), keys[#keys]
        return out
      end
    end
  end
  if more then break end
end
out[2] = more and '1' or '0'
return out
