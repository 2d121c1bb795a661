-- A batch of commits. After the keys: the number of commits, and for each one: how many arguments follow, checks, writes, request key ('' = none),
-- then fingerprint and note if there is a request key, writer, agent, two arguments per check and three to six per write.
-- Returns for each commit one text ('o' done, 'k' known request key, 'u' used for something else) or a list (failed checks).
if seal_state and seal_state ~= 'copying' then return {'sealed', m[8]} end
local keys, at = batch_keys()
load_slots(keys)
local commit_count = tonumber(ARGV[at])
if revision + commit_count > CONST.revision_max then return {'full'} end
at = at + 1
local out, kept, has_known = {}, {}, false
local kept_until = num(now + CONST.request_kept_ms)
local function is_live(slot) return slot.present and not (slot.exp and slot.exp <= now) end
local function known_request(key)
  local text = kept[key] or call('HGET', REQUESTS, key)
  if not text then return nil end
  local till, fingerprint = match(text, '^([^%z]*)%z([^%z]*)')
  if tonumber(till) <= now then return nil end
  return text, fingerprint
end
local function failed_checks(from, count)
  local failed
  for i = 0, count - 1 do
    local slot, test = slots[tonumber(ARGV[from + 2 * i])], ARGV[from + 2 * i + 1]
    local live, kind, holds = is_live(slot), string.byte(test), nil
    if kind == 118 then holds = (live and slot.ver or 0) == tonumber(string.sub(test, 2))
    elseif kind == 114 then holds = live and rev_of(slot.id) == tonumber(string.sub(test, 2))
    elseif kind == 97 then holds = not live
    else holds = live end
    if not holds then
      failed = failed or {'f', num(revision)}
      failed[#failed + 1] = i
      failed[#failed + 1] = live and header_of(slot) or ''
    end
  end
  return failed
end
local function write(op, slot, who, from)
  if slot.present and slot.exp and slot.exp <= now then expire(slot) end
  local existed = slot.present
  if op == 'd' then
    if not existed then return '0:0:' end
    finish(slot, 'd', who, ARGV[from]..'\0')
    return slot.ver..':1:'
  end
  slot.ver = math.max(slot.ver or version_floor, base) + 1
  local ttl = string.sub(op, 2)
  slot.exp = ttl ~= '' and now + ttl or nil
  if not existed then slot.created = now end
  slot.present = true
  slot.index = string.byte(op) == 105 and ARGV[from + 3] or nil
  append(slot, next_id(), 'p', who, ARGV[from]..'\0'..ARGV[from + 1], now, ARGV[from + 2])
  return slot.ver..(existed and ':1:' or ':0:')..(slot.exp or '')
end
for c = 1, commit_count do
  local length, checks, writes, request = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), ARGV[at + 3]
  local next_at, from, answer = at + length, at + 4, nil
  if request ~= '' then
    local text, fingerprint = known_request(request)
    if text then answer, has_known = fingerprint == ARGV[from] and 'k'..text or 'u'..num(revision), true end
    from = from + 2
  end
  local who = ARGV[from]..'\0'..ARGV[from + 1]
  if not answer and checks > 0 then answer = failed_checks(from + 2, checks) end
  if not answer then
    seq = 0
    from = from + 2 + 2 * checks
    local results = {}
    for w = 1, writes do
      local op = ARGV[from]
      results[w] = write(op, slots[tonumber(ARGV[from + 1])], who, from + 2)
      local kind = string.byte(op)
      from = from + (kind == 100 and 3 or kind == 105 and 6 or 5)
    end
    if seq > 0 then revision = revision + 1 end
    local done = table.concat(results, ';')
    answer = 'o'..revision..'\0'..done
    if request ~= '' then kept[request] = kept_until..'\0'..ARGV[at + 4]..'\0'..revision..'\0'..now..'\0'..done..'\0'..ARGV[at + 5] end
  end
  out[c] = answer
  at = next_at
end
if row_count > 0 then
  clock = now
  write_back()
end
for request, text in pairs(kept) do
  call('HSET', REQUESTS, request, text)
  call('ZADD', REQUEST_AGE, kept_until, request)
end
-- A wait for replicas covers only writes of its own connection, so a repeated outcome must be confirmed too.
if row_count > 0 or leapt or (waits and has_known) then write_meta() end
return {num(now), num(revision), out, leapt and '1' or '0'}
