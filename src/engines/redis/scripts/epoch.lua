-- The server that runs this script, and whether the namespace's history went back since its last write. ARG.seen: the highest revision seen by the caller.
-- ARG.traits: '1' if the server loses nothing in a restart, then 'w' if the caller waits for replicas, then 'c' in a cluster. ARG.home: the server's address.
local server = call('INFO', 'server')
local run_id = match(server, 'run_id:(%x+)')
local seen, lasting, waits, home = tonumber(ARG.seen), string.sub(ARG.traits, 1, 1) == '1', string.sub(ARG.traits, 2, 2) == 'w', ARG.home
local in_cluster = string.sub(ARG.traits, 3, 3) == 'c'
local gaps = m[7] or ''
local leapt = false
local function is_restart()
  if not lasting or m[10] ~= home then return false end
  local replication = call('INFO', 'replication')
  if not string.find(replication, 'second_repl_offset:-1', 1, true) then return false end
  return real_now - match(server, 'uptime_in_seconds:(%d+)') * 1000 + 1000 >= clock
end
if seen > revision or (revision > 0 and m[9] ~= run_id and not is_restart()) then
  -- The rule of baseAbove in store/engine-rules.ts.
  base = math.max(math.max(revision, seen) + CONST.lost_revisions_max, ((ARG.time ~= '' and now or real_now) - CONST.leaps_since_ms) * CONST.revisions_per_ms)
  local kept = {}
  for gap in string.gmatch(gaps..' '..num(revision)..':'..num(base), '%S+') do kept[#kept + 1] = gap end
  gaps = table.concat(kept, ' ', math.max(1, #kept - CONST.gaps_max + 1))
  revision = base
  leapt = true
end
local function write_meta(...)
  call('HSET', META, 'revision', num(revision), 'clock', num(clock), 'served_by', run_id, 'home', home, ...)
  if leapt then call('HSET', META, 'base', num(base), 'gaps', gaps) end
end
