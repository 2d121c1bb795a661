-- ARG.seal: the seal as JSON, with its state first; '' removes it. ARG.expected: the seal that must be there, or ''. Works even if Redis is full, because a sealed
-- namespace is about to move away.
if (m[8] or '') ~= ARG.expected then return {'other', m[8] or ''} end
if ARG.seal == '' then call('HDEL', META, 'seal') else call('HSET', META, 'seal', ARG.seal) end
return {'ok'}
