-- One slice of clearing: documents first, since each has its own keys. The last slice removes everything else, and the seal.
if seal_state ~= 'filling' then return {'not filling'} end
local budget = 20
for _, area in ipairs(call('HKEYS', AREAS)) do
  for _, id in ipairs(call('ZRANGE', P..'da:'..area, 0, budget - 1)) do
    remove_document(id)
    budget = budget - 1
  end
  if budget == 0 then return {'more'} end
end
call('UNLINK', ENTRIES, ORDER, EXPIRY, LOG, GONE, GONE_AGE, GONE_ORDER, REQUESTS, REQUEST_AGE, DOCS, DOC_TERMS, AREAS, OLD, OLD_ORDER)
call('DEL', META)
return {'ok'}
