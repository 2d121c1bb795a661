-- Returns a function that reads the rows of a range of revisions, in order and in parts, and reports the last part. Rows that compaction moved aside are older than
-- those in the stream.
local function scan(low, high, reverse)
  local from, to, min, max = num(low)..'-0', num(high), num(low * CONST.seq_count), num((high + 1) * CONST.seq_count - 1)
  local has_aside = low <= compacted
  local stage = has_aside and not reverse and 'aside' or 'stream'
  return function(count)
    local rows, last_id = {}, nil
    if stage == 'aside' then
      local ids = reverse and call('ZRANGE', OLD_ORDER, max, min, 'BYSCORE', 'REV', 'LIMIT', 0, count) or call('ZRANGE', OLD_ORDER, min, max, 'BYSCORE', 'LIMIT', 0, count)
      for i, text in ipairs(hmget(OLD, ids)) do
        if not text then error(damaged('a row of the log')) end
        rows[i] = aside_row(ids[i], text)
      end
      last_id = ids[#ids]
    else
      rows = reverse and call('XREVRANGE', LOG, to, from, 'COUNT', count) or call('XRANGE', LOG, from, to, 'COUNT', count)
      last_id = rows[1] and rows[#rows][1]
    end
    if #rows < count then
      if stage == 'stream' then stage = has_aside and reverse and 'aside' or 'end' else stage = reverse and 'end' or 'stream' end
    elseif stage == 'aside' then
      if reverse then max = '('..score_of(last_id) else min = '('..score_of(last_id) end
    elseif reverse then to = '('..last_id else from = '('..last_id end
    return rows, stage == 'end'
  end
end
