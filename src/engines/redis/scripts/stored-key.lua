-- Adds a key to the result: key, 1 (present) or 0 (deleted), id, version, index. Returns an estimate of its bytes.
local function put_key(out, key, entry, gone)
  local n = #out
  if entry then
    local id, ver, findable = match(entry, '^([^%z]*)%z[^%z]*%z([^%z]*)%z[^%z]*%z[^%z]*%z[^%z]*%z([^%z]*)')
    local index = findable == '1' and call('HGET', DOC_TERMS, id) or ''
    out[n + 1], out[n + 2], out[n + 3], out[n + 4], out[n + 5] = key, '1', id, ver, index
    return #index + 100
  elseif gone then
    local ver, id = match(gone, '^([^%z]*)%z([^%z]*)')
    out[n + 1], out[n + 2], out[n + 3], out[n + 4], out[n + 5] = key, '0', id, ver, ''
    return 100
  end
  return 0
end
