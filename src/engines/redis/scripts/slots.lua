-- The state of the keys in a batch: read once, changed in memory, written back once.
-- An entry: id of its newest log row, anchor, version, created, expiry, time, findable, writer, agent. A tombstone: version, id, anchor.
local slots, rows, row_count, seq = {}, {}, 0, 0
local function load_slots(keys)
  local found = hmget(ENTRIES, keys)
  local absent, absent_keys = {}, {}
  for i = 1, #keys do
    local header = found[i]
    if header then
      local id, anchor, ver, created, exp, at, findable, who = match(header, '^([^%z]*)%z([^%z]*)%z([^%z]*)%z([^%z]*)%z([^%z]*)%z([^%z]*)%z([^%z]*)%z(.*)$')
      exp = tonumber(exp)
      slots[i] = {key = keys[i], stored = true, present = true, id = id, id0 = id, anchor = anchor, ver = tonumber(ver), created = created, exp = exp, exp0 = exp, at = at, findable0 = findable == '1', findable = findable, who = who, changed = false}
    else
      local slot = {key = keys[i], stored = false, present = false, id = '', id0 = '', anchor = '', ver = nil, created = '0', exp = nil, exp0 = nil, at = '0', findable0 = false, findable = '', who = '', changed = false}
      slots[i] = slot
      absent[#absent + 1] = slot
      absent_keys[#absent_keys + 1] = keys[i]
    end
  end
  if #absent > 0 and call('EXISTS', GONE) == 1 then
    local gone = hmget(GONE, absent_keys)
    for i, slot in ipairs(absent) do
      if gone[i] then
        local ver, id, anchor = match(gone[i], '^([^%z]*)%z([^%z]*)%z([^%z]*)$')
        slot.has_tombstone, slot.ver, slot.id, slot.anchor = true, tonumber(ver), id, anchor
      end
    end
  end
end
local function append(slot, id, op, who, texts, at, json)
  local prev, jump = slot.id, ''
  if op == 'p' and slot.ver % CONST.jump_every == 0 then
    jump = slot.anchor
    slot.anchor = id
  end
  slot.id, slot.at, slot.who, slot.json, slot.changed = id, at, who, json, true
  row_count = row_count + 1
  rows[row_count] = {id, prev..'\0'..jump..'\0'..op..'\0'..slot.ver..'\0'..(op == 'p' and slot.exp or '')..'\0'..slot.created..'\0'..at..'\0'..slot.key..'\0'..who..'\0'..texts, json}
end
local function next_id()
  local id = (revision + 1)..'-'..seq
  seq = seq + 1
  return id
end
local function finish(slot, op, who, texts)
  slot.present, slot.index = false, nil
  append(slot, next_id(), op, who, texts, now, '')
  slot.exp = nil
end
local function expire(slot)
  local row = row_of(slot.id)
  local lapse = row and match(row[2][2], '^.*%z(.*)$') or ''
  finish(slot, 'x', CONST.system_writer..'\0', lapse..'\0')
end
local function header_of(slot)
  return slot.id..'\0'..slot.anchor..'\0'..slot.ver..'\0'..slot.created..'\0'..(slot.exp or '')..'\0'..slot.at..'\0'..slot.findable..'\0'..slot.who
end
local function send(command, key, args)
  for i = 1, #args, 500 do call(command, key, unpack(args, i, math.min(i + 499, #args))) end
end
-- In a slot that is moving to another node, a script may not access a key that is not here. This check fails before the first write.
local function touch_documents()
  local keys = {META}
  local function add(text)
    local area, rest = match(text, '^([^%z]*)%z[^%z]*%z?(.*)$')
    keys[#keys + 1] = P..'da:'..area
    for term in string.gmatch(rest, '([^%z]*)%z[^%z]*%z?') do keys[#keys + 1] = posting_key(area, term) end
  end
  for i = 1, #slots do
    local slot = slots[i]
    if slot.changed and slot.findable0 then add(call('HGET', DOC_TERMS, slot.id0) or '') end
    if slot.changed and slot.index then add(slot.index) end
  end
  for i = 1, #keys, 500 do call('EXISTS', META, unpack(keys, i, math.min(i + 499, #keys))) end
end
local function write_back()
  if in_cluster then touch_documents() end
  for i = 1, row_count do
    local row = rows[i]
    call('XADD', LOG, row[1], 'h', row[2], 'v', row[3])
  end
  local puts, order, removed, gone, gone_age, gone_order, risen, expiries, unexpired = {}, {}, {}, {}, {}, {}, {}, {}, {}
  for i = 1, #slots do
    local slot = slots[i]
    if slot.changed then
      slot.findable = ''
      if slot.index then
        if slot.findable0 and slot.id == slot.id0 then
          remove_document(slot.id0)
          slot.findable0 = false
        end
        add_document(slot.id, slot.key, slot.exp, slot.index)
        slot.findable = '1'
      end
      if slot.present then
        local n = #puts
        puts[n + 1], puts[n + 2] = slot.key, header_of(slot)
        if not slot.stored then order[#order + 1] = '0' order[#order + 1] = slot.key end
        if slot.exp and slot.exp ~= slot.exp0 then expiries[#expiries + 1] = num(slot.exp) expiries[#expiries + 1] = slot.key end
        if slot.has_tombstone then risen[#risen + 1] = slot.key end
      else
        if slot.stored then removed[#removed + 1] = slot.key end
        gone[#gone + 1] = slot.key
        gone[#gone + 1] = slot.ver..'\0'..slot.id..'\0'..slot.anchor
        gone_age[#gone_age + 1] = score_of(slot.id)
        gone_age[#gone_age + 1] = slot.key
        gone_order[#gone_order + 1] = '0'
        gone_order[#gone_order + 1] = slot.key
      end
      if slot.exp0 and not slot.exp then unexpired[#unexpired + 1] = slot.key end
    end
  end
  -- Additions come before removals: a key that becomes empty is deleted, and in a moving slot it could not be created again.
  send('HSET', ENTRIES, puts)
  send('ZADD', ORDER, order)
  send('ZADD', EXPIRY, expiries)
  send('HSET', GONE, gone)
  send('ZADD', GONE_AGE, gone_age)
  send('ZADD', GONE_ORDER, gone_order)
  send('HDEL', ENTRIES, removed)
  send('ZREM', ORDER, removed)
  send('ZREM', EXPIRY, unexpired)
  send('HDEL', GONE, risen)
  send('ZREM', GONE_AGE, risen)
  send('ZREM', GONE_ORDER, risen)
  for i = 1, #slots do if slots[i].changed and slots[i].findable0 then remove_document(slots[i].id0) end end
end
