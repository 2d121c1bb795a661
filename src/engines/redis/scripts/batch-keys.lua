-- The keys that the other arguments begin with, ARG.key_count of them, and where the argument behind them is.
local function batch_keys()
  local keys, count = {}, tonumber(ARG.key_count)
  for i = 1, count do keys[i] = ARGV[ARG.rest + i - 1] end
  return keys, ARG.rest + count
end
