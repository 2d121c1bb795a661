-- Where a namespace stands, and how much there is of it.
return {facts, num(call('XLEN', LOG) + call('HLEN', OLD)), num(call('ZCARD', ORDER)), num(call('HLEN', GONE)), num(call('HLEN', REQUESTS)), num(real_now)}
