-- ARG.seal: the seal as JSON, its state first; '' takes it away. ARG.expected: the one that must be there, or ''. Also where Redis is full: what is sealed is on its way out.
if (m[8] or '') ~= ARG.expected then return {'other', m[8] or ''} end
if ARG.seal == '' then call('HDEL', META, 'seal') else call('HSET', META, 'seal', ARG.seal) end
return {'ok'}
