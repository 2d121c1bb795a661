-- New texts for entries that are already findable: key, revision and text of each. Returns: how many were replaced, and the time.
if seal_state == 'copying' then
  local till = match(m[8], '"untilMs":(%d+)')
  if till and now < tonumber(till) then return {'0', num(now)} end
elseif seal_state then return {'0', num(now)} end
local found, touched = {}, {META}
local function touch(text)
  local area, rest = match(text, '^([^%z]*)%z[^%z]*%z?(.*)$')
  touched[#touched + 1] = P..'da:'..area
  for term in string.gmatch(rest, '([^%z]*)%z[^%z]*%z?') do touched[#touched + 1] = posting_key(area, term) end
end
for i = ARG.rest, #ARGV, 3 do
  local header = call('HGET', ENTRIES, ARGV[i])
  local id, exp, findable
  if header then id, exp, findable = match(header, '^([^%z]*)%z[^%z]*%z[^%z]*%z[^%z]*%z([^%z]*)%z[^%z]*%z([^%z]*)') end
  if findable == '1' and rev_of(id) == tonumber(ARGV[i + 1]) then
    found[#found + 1] = {id, ARGV[i], tonumber(exp), ARGV[i + 2]}
    touch(call('HGET', DOC_TERMS, id) or '')
    touch(ARGV[i + 2])
  end
end
-- In a slot that is moving to another node, a script may not access a key that is not here. This check fails before the first write.
if string.sub(ARG.traits, 3, 3) == 'c' then
  for i = 1, #touched, 500 do call('EXISTS', META, unpack(touched, i, math.min(i + 499, #touched))) end
end
for _, doc in ipairs(found) do
  remove_document(doc[1])
  add_document(doc[1], doc[2], doc[3], doc[4])
end
return {num(#found), num(now)}
