-- The stored record of a request key.
local text = call('HGET', REQUESTS, ARG.key)
if text and tonumber(match(text, '^[^%z]*')) <= now then text = false end
return {facts, text}
