-- Keys from the bound ARG.min. Returns: facts, done, keys. The keys are unordered, but complete up to the last one.
local keys, min = {}, ARG.min
while true do
  local live, gone, edge = window(min, '+', 50, false)
  local entries, tombstones = hmget(ENTRIES, live), hmget(GONE, gone)
  for i = 1, #live do bytes = bytes + put_key(keys, live[i], entries[i], false) end
  for i = 1, #gone do bytes = bytes + put_key(keys, gone[i], false, tombstones[i]) end
  if not edge then return {facts, '1', keys} end
  if #keys >= 5 * CONST.dump_records_max or bytes > CONST.reply_bytes_max then return {facts, '0', keys} end
  min = '('..edge
end
