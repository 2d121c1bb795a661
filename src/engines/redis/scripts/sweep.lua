-- Turns expired entries into history records, and deletes old request keys. ARG.limit: how many.
if seal_state and seal_state ~= 'copying' then return {'0', num(now)} end
local limit = tonumber(ARG.limit)
local old = call('ZRANGEBYSCORE', REQUEST_AGE, '-inf', num(now), 'LIMIT', 0, math.max(limit, CONST.commit_rows_max))
local expired = call('ZRANGEBYSCORE', EXPIRY, '-inf', num(now), 'LIMIT', 0, math.min(limit, CONST.commit_rows_max))
if #expired > 0 then
  if revision >= CONST.revision_max then return {'0', num(now)} end
  load_slots(expired)
  for i = 1, #slots do expire(slots[i]) end
  write_back()
  revision, clock = revision + 1, now
  write_meta()
end
send('HDEL', REQUESTS, old)
send('ZREM', REQUEST_AGE, old)
return {num(#expired), num(now)}
