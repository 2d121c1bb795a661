-- Log rows after a revision. ARG.with_keys: '1' = with the keys that the rows touch. Returns: facts, done, rows (id, header, value), keys. Only complete revisions.
local bytes = 0
local rows, keys, touched, order, previous = {}, {}, {}, {}, nil
local more = scan(tonumber(ARG.after) + 1, revision, false)
while true do
  local found, is_last = more(50)
  for i = 1, #found do
    local id, header, value = found[i][1], found[i][2][2], found[i][2][4]
    local rev = rev_of(id)
    if rev ~= previous and (#rows >= 3 * CONST.dump_records_max or bytes > CONST.reply_bytes_max) then return {facts, '0', rows, keys} end
    previous = rev
    local n = #rows
    rows[n + 1], rows[n + 2], rows[n + 3] = id, header, value
    bytes = bytes + #value + CONST.record_overhead_bytes
    if ARG.with_keys == '1' then
      local key = match(header, '^[^%z]*%z[^%z]*%z[^%z]*%z[^%z]*%z[^%z]*%z[^%z]*%z[^%z]*%z([^%z]*)')
      if not touched[key] then
        touched[key] = true
        bytes = bytes + put_key(keys, key, call('HGET', ENTRIES, key), call('HGET', GONE, key))
      end
    end
  end
  if is_last then return {facts, '1', rows, keys} end
end
