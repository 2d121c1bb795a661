-- The facts of a namespace, and the number of its records.
return {facts, num(call('XLEN', LOG) + call('HLEN', OLD)), num(call('ZCARD', ORDER)), num(call('HLEN', GONE)), num(call('HLEN', REQUESTS)), num(real_now)}
