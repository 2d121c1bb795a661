-- Whether a key is in a range, and whether a row matches the query. Compares bytes, without the common prefix of start and end.
local function below(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end
-- Ranges as four arguments each: '*'; '=' key; 'r' common start end; 'f' '' start (no end).
local function read_ranges(from, count)
  local ranges = {}
  for i = 1, count do
    local at = from + (i - 1) * 4
    ranges[i] = {ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], #ARGV[at + 1]}
  end
  return ranges
end
local function in_ranges(key, ranges)
  for i = 1, #ranges do
    local range = ranges[i]
    local kind = range[1]
    if kind == '*' then return true end
    if kind == '=' then
      if key == range[2] then return true end
    elseif string.sub(key, 1, range[5]) == range[2] then
      local rest = string.sub(key, range[5] + 1)
      if not below(rest, range[3]) and (kind == 'f' or below(rest, range[4])) then return true end
    end
  end
  return false
end
