-- Keeps which pages of a site are to be cleaned again, and where the newest message of each is.
--
-- A position is partition/offset/topic. Of two in the same partition, the one with the larger offset is newer,
-- whoever tells it last; others have no order, and the one that is told last is taken for the newer one.
--
-- KEYS[1]  the site, a hash: of each page its key and the position of its message, with a / behind it once that
--          message is cleaned again; and once it is scheduled that these are cleaned again, an empty field
-- ARGV     a command, and what it takes:
--          update    a page and its position, for any number of pages: has those moved that are kept
--          remember  most pages, seconds to live, and of each page three strings: it, its position, and why it is
--                    told: 'first' of its site, 'again' since it was counted before, and may be a first one that
--                    was not told, 'late' since all first ones should have been told by now, 'gone' since its
--                    message says so, or Redis did not answer when it was cleaned
--          schedule  nothing: no other page is kept from now on
--          take      nothing: schedules, too
--          catch_up  a page and its position, for any number of pages whose documents are delivered already: has
--                    those moved that are kept, which are to be cleaned again, also if they were before
--          settle    a page and its position, for any number of pages: marks as cleaned again those that have not
--                    moved; one that has, and was marked, is to be cleaned again, as its document may have come
--                    before that of the older message
-- Answer   of remember 1 if it is time to schedule, of catch_up 1 if it is time to take, of take pages and
--          positions, else nothing

local site, command = KEYS[1], ARGV[1]
local SCHEDULED = ''
local DONE = '/'

local function schedule()
  if redis.call('EXISTS', site) == 1 then
    redis.call('HSET', site, SCHEDULED, 1)
  end
end

local function is_done(stored)
  return stored:sub(-1) == DONE
end

local POSITION = '^(%d+)/(%d+)/([^/]+)'

-- What is no position is older than any.
local function is_newer(position, stored)
  local partition, offset, topic = position:match(POSITION)
  local stored_partition, stored_offset, stored_topic = stored:match(POSITION)
  if partition ~= stored_partition or topic ~= stored_topic then
    return true
  end
  -- as digits: numbers of Lua are exact up to 2^53 only
  return #offset > #stored_offset or #offset == #stored_offset and offset > stored_offset
end

local function move(page, position)
  local stored = redis.call('HGET', site, page)
  if stored and is_newer(position, stored) then
    redis.call('HSET', site, page, is_done(stored) and position .. DONE or position)
  end
  return stored ~= false
end

local commands = {schedule = schedule}

function commands.update()
  for at = 2, #ARGV, 2 do
    move(ARGV[at], ARGV[at + 1])
  end
end

function commands.remember()
  local most, lifetime, is_late = tonumber(ARGV[2]), ARGV[3], false
  local is_scheduled = redis.call('HEXISTS', site, SCHEDULED) == 1
  for at = 4, #ARGV, 3 do
    local page, position, why = ARGV[at], ARGV[at + 1], ARGV[at + 2]
    local size = redis.call('HLEN', site)
    local is_missed = why == 'again' and size > 0 and size < most
    if not move(page, position) and not is_scheduled and (why == 'first' or is_missed) then
      redis.call('HSET', site, page, position)
    end
    is_late = is_late or why == 'late'
  end
  redis.call('EXPIRE', site, lifetime)
  local size = redis.call('HLEN', site)
  return (not is_scheduled and (size >= most or is_late and size > 0)) and 1 or 0
end

function commands.take()
  schedule()
  local taken, stored = {}, redis.call('HGETALL', site)
  for at = 1, #stored, 2 do
    if stored[at] ~= SCHEDULED and stored[at + 1]:match(POSITION .. '$') then
      taken[#taken + 1], taken[#taken + 2] = stored[at], stored[at + 1]
    end
  end
  return taken
end

function commands.catch_up()
  local is_waiting = false
  for at = 2, #ARGV, 2 do
    local page, position = ARGV[at], ARGV[at + 1]
    local stored = redis.call('HGET', site, page)
    if stored and is_newer(position, stored) then
      redis.call('HSET', site, page, position)
      stored = position
    end
    is_waiting = is_waiting or stored and not is_done(stored)
  end
  return (is_waiting and redis.call('HEXISTS', site, SCHEDULED) == 1) and 1 or 0
end

function commands.settle()
  for at = 2, #ARGV, 2 do
    local page, position = ARGV[at], ARGV[at + 1]
    local stored = redis.call('HGET', site, page)
    if stored == position then
      redis.call('HSET', site, page, position .. DONE)
    elseif stored and is_done(stored) and stored ~= position .. DONE then
      redis.call('HSET', site, page, stored:sub(1, -2))
    end
  end
end

local kept = redis.pcall('HGET', site, SCHEDULED)
if type(kept) == 'table' then
  if not kept.err:find('WRONGTYPE', 1, true) then
    return kept
  end
  redis.call('EXPIRE', site, 0)  -- no hash: nothing is kept of the site
end
return commands[command]()
