-- Log rows by id: values that did not fit in a reply.
local out, bytes = {}, 0
for i = 1, #ARGV do
  local row = row_of(ARGV[i])
  if not row then return out end
  out[i] = row[2][4]
  bytes = bytes + #out[i]
  if bytes > CONST.reply_bytes_max then return out end
end
return out
