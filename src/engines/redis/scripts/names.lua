-- The start of every script. Rules for all of them:
-- - Lua never rolls back: everything is read and decided first, and nothing after the first write can fail;
-- - numbers are passed and returned as text; those that may exceed 1e14 (scores) are formatted with %.0f, the others stay below (see limits.revisionMax);
-- - values are opaque text, never parsed;
-- - strings are never compared with <, because that depends on the server's locale. Ordering is done by Redis (bytes) or by JavaScript.
-- Fields of one record are joined by NUL, which no key, label or JSON text contains.
-- Names after ARG and CONST are resolved before a script is sent (see lua-script.ts): an argument, the position of the first unnamed argument (rest), or a value that
-- has the same name in JavaScript.
local P = string.sub(KEYS[1], 1, -2)
local META, ENTRIES, ORDER, EXPIRY, LOG = KEYS[1], P..'e', P..'k', P..'x', P..'l'
local GONE, GONE_AGE, GONE_ORDER = P..'g', P..'ga', P..'gk'
local REQUESTS, REQUEST_AGE = P..'q', P..'qa'
local DOCS, DOC_TERMS, AREAS = P..'d', P..'dt', P..'a'
local OLD, OLD_ORDER = P..'o', P..'oo'
local compacted = 0
local call, match, tonumber = redis.call, string.match, tonumber
local function num(n) return string.format('%.0f', n) end
local function rev_of(id) return tonumber(match(id, '^%d+')) end
local function score_of(id) local r, s = match(id, '^(%d+)-(%d+)$') return num(r * CONST.seq_count + s) end
-- A row that compaction moved aside because a live entry still needs it: all its fields and the value in one text.
local ASIDE = '^('..string.rep('[^%z]*%z', 11)..'[^%z]*)%z(.*)$'
local function aside_row(id, text)
  local header, value = match(text, ASIDE)
  return {id, {'h', header, 'v', value}}
end
local function row_of(id)
  if rev_of(id) <= compacted then
    local text = call('HGET', OLD, id)
    if text then return aside_row(id, text) end
  end
  local row = call('XRANGE', LOG, id, id)[1]
  if row then return row end
  local text = call('HGET', OLD, id)
  return text and aside_row(id, text) or nil
end
local function damaged(what) return {err = 'HOLDFAST damaged '..what} end
local function hmget(key, fields)
  local n = #fields
  if n == 0 then return {} end
  if n <= 500 then return call('HMGET', key, unpack(fields)) end
  local all = {}
  for i = 1, n, 500 do
    local part = call('HMGET', key, unpack(fields, i, math.min(i + 499, n)))
    for j = 1, #part do all[i + j - 1] = part[j] end
  end
  return all
end
