-- Live entries from ARG.min to ARG.max; then the same range for the filter. Expired entries that are not yet swept do not count.
local count = call('ZLEXCOUNT', ORDER, ARG.min, ARG.max)
local ranges = read_ranges(ARG.rest, 1)
for from = 0, math.huge, 1000 do
  local expired = call('ZRANGEBYSCORE', EXPIRY, '-inf', num(now), 'LIMIT', from, 1000)
  for i = 1, #expired do if in_ranges(expired[i], ranges) then count = count - 1 end end
  if #expired < 1000 then break end
end
return {facts, num(count)}
