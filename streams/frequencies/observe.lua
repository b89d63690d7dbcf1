-- Counts one page of a site, unless it was counted before, and answers the counts of its blocks.
--
-- KEYS[1]  set of the hashes of the pages counted so far
-- KEYS[2]  hash of block fingerprint -> upper bound of its count, and of two fields more:
--          'pages', the size of KEYS[1]; 'floor', what any bound may exceed the true count by
-- ARGV     page hash, distinct fingerprints (8 bytes each, one string), most pages, most blocks, seconds to live
-- Answer   little-endian uint32: pages seen, then one count per fingerprint

local page, fingerprints = ARGV[1], ARGV[2]
local most_pages, most_blocks, lifetime = tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
local CHUNK = 1000  -- arguments per call: Lua's stack holds some 8000

local pages = redis.call('SCARD', KEYS[1])
local state = redis.call('HMGET', KEYS[2], 'pages', 'floor')
local floor = tonumber(state[2] or 0)
if pages ~= tonumber(state[1] or 0) then  -- one of the two keys was evicted: the site starts over
  redis.call('DEL', KEYS[1], KEYS[2])
  pages, floor = 0, 0
end

local known = redis.call('SISMEMBER', KEYS[1], page) == 1
local counting = not known and pages < most_pages
-- The answer includes this page: a known page is in the bounds already, another adds one to each.
local own = known and 0 or 1

local answer = {struct.pack('<I4', pages + own)}
for first = 1, #fingerprints, 8 * CHUNK do
  local fields = {}
  for start = first, math.min(first + 8 * CHUNK - 1, #fingerprints), 8 do
    fields[#fields + 1] = fingerprints:sub(start, start + 7)
  end
  local bounds = redis.call('HMGET', KEYS[2], unpack(fields))
  local updates = {}
  for i = 1, #fields do
    local bound = tonumber(bounds[i] or floor) + own
    answer[#answer + 1] = struct.pack('<I4', math.max(bound - floor, 1))
    updates[2 * i - 1], updates[2 * i] = fields[i], bound
  end
  if counting then
    redis.call('HSET', KEYS[2], unpack(updates))
  end
end

-- Forgets the half of the blocks with the lowest bounds, which then become the floor.
local function prune()
  local entries = redis.call('HGETALL', KEYS[2])
  local blocks_at, blocks = {}, 0
  for i = 1, #entries, 2 do
    if #entries[i] == 8 then
      local bound = tonumber(entries[i + 1])
      blocks_at[bound] = (blocks_at[bound] or 0) + 1
      blocks = blocks + 1
    end
  end
  local forgotten = 0
  while 2 * forgotten < blocks do
    floor = floor + 1
    forgotten = forgotten + (blocks_at[floor] or 0)
  end
  local fields = {}
  for i = 1, #entries, 2 do
    if #entries[i] == 8 and tonumber(entries[i + 1]) <= floor then
      fields[#fields + 1] = entries[i]
    end
  end
  for first = 1, #fields, CHUNK do
    redis.call('HDEL', KEYS[2], unpack(fields, first, math.min(first + CHUNK - 1, #fields)))
  end
  redis.call('HSET', KEYS[2], 'floor', floor)
end

if counting then
  redis.call('SADD', KEYS[1], page)
  redis.call('HSET', KEYS[2], 'pages', pages + 1)
  if redis.call('HLEN', KEYS[2]) > most_blocks then
    prune()
  end
  redis.call('EXPIRE', KEYS[1], lifetime)
  redis.call('EXPIRE', KEYS[2], lifetime)
end
return table.concat(answer)
