-- The first ARG.key_count of the remaining arguments are the keys. Returns them, and the position of the argument after them.
local function batch_keys()
  local keys, count = {}, tonumber(ARG.key_count)
  for i = 1, count do keys[i] = ARGV[ARG.rest + i - 1] end
  return keys, ARG.rest + count
end
