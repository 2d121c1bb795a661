-- The inverted index: for each area and term, a hash from position to weight. For each document, the data of a hit, and its terms, so that they can be removed again.
local function posting_key(area, term) return P..'t:'..area..':'..term end
local function remove_document(id)
  local text = call('HGET', DOC_TERMS, id)
  if not text then return end
  local area, length, rest = match(text, '^([^%z]*)%z([^%z]*)%z?(.*)$')
  for term in string.gmatch(rest, '([^%z]*)%z[^%z]*%z?') do call('HDEL', posting_key(area, term), id) end
  call('HDEL', DOCS, id)
  call('HDEL', DOC_TERMS, id)
  call('ZREM', P..'da:'..area, id)
  call('HINCRBY', AREAS, area, num(0 - length))
end
local function add_document(id, key, exp, text)
  local area, length, rest = match(text, '^([^%z]*)%z([^%z]*)%z?(.*)$')
  for term, weight in string.gmatch(rest, '([^%z]*)%z([^%z]*)%z?') do call('HSET', posting_key(area, term), id, weight) end
  call('HSET', DOCS, id, (exp and num(exp) or '')..'\0'..length..'\0'..key)
  call('HSET', DOC_TERMS, id, text)
  call('ZADD', P..'da:'..area, score_of(id), id)
  call('HINCRBY', AREAS, area, length)
end
