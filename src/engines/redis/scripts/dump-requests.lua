-- Request keys from ARG.kept_until and after ARG.key ('' = from the first). Returns: facts, done, keys with their records, in the order in which they expire.
local out, bytes = {}, 0
local rank = ARG.key ~= '' and call('ZSCORE', REQUEST_AGE, ARG.key) == ARG.kept_until and call('ZRANK', REQUEST_AGE, ARG.key) + 1
-- If the key is gone meanwhile, all keys with the same time are returned again, and JavaScript drops those before it.
if not rank then rank = call('ZCOUNT', REQUEST_AGE, '-inf', '('..ARG.kept_until) end
while true do
  local keys = call('ZRANGE', REQUEST_AGE, rank, rank + 99)
  local texts = hmget(REQUESTS, keys)
  for i = 1, #keys do
    local n = #out
    out[n + 1], out[n + 2] = keys[i], texts[i] or ''
    bytes = bytes + #keys[i] + #out[n + 2] + CONST.record_overhead_bytes
  end
  if #keys < 100 then return {facts, '1', out} end
  if #out >= 2 * CONST.dump_records_max or bytes > CONST.reply_bytes_max then return {facts, '0', out} end
  rank = rank + 100
end
