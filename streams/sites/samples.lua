-- Keeps samples of a site's texts, and the name of a site whose key does not say it, beside its counts.
--
-- KEYS[1]  the site, see observe.lua; here, of its fields:
--          'samples'  lists of key, text, pages that have it, documents that lack it and documents that have it
--                     because of what is known of the site; the last one was seen last
--          'name'     what it is called
-- ARGV     its name, or nothing; most samples that documents lack or have, most of those on many pages; and
--          new samples, as in the field
-- Answer   1, or 0 where nothing is counted of the site: its samples come and go with it
--
-- Samples are packed with MessagePack, whose strings are bytes.

local KEY, TEXT, PAGES, DROPPED, SAVED = 1, 2, 3, 4, 5

local site, name, most = KEYS[1], ARGV[1], {[true] = tonumber(ARGV[2]), [false] = tonumber(ARGV[3])}
local stored = redis.call('HMGET', site, 'state', 'samples', 'name')
if not stored[1] then
  return 0
end
local samples = stored[2] and cmsgpack.unpack(stored[2]) or {}

local function changes(sample)
  return sample[DROPPED] + sample[SAVED]
end

-- How much a sample tells, among its kind.
local function rank(sample)
  return changes(sample) > 0 and changes(sample) or sample[PAGES]
end

-- Takes the sample of a text out, or nothing.
local function take(key)
  for at, sample in ipairs(samples) do
    if sample[KEY] == key then
      return table.remove(samples, at)
    end
  end
end

-- Where the sample is that tells least of its kind, of several the oldest; nothing while there is room.
local function replaceable(is_changed)
  local least, count = nil, 0
  for at, sample in ipairs(samples) do
    if (changes(sample) > 0) == is_changed then
      count = count + 1
      if not least or rank(sample) < rank(samples[least]) then
        least = at
      end
    end
  end
  return count >= most[is_changed] and least or nil
end

-- A text that was dropped or saved makes its way, so that new ones are seen; one that is on many pages has to be
-- on more than another.
local function add(sample)
  local is_changed = changes(sample) > 0
  local at = replaceable(is_changed)
  if at and (is_changed or rank(samples[at]) <= rank(sample)) then
    table.remove(samples, at)
  elseif at then
    return
  end
  samples[#samples + 1] = sample
end

local news = cmsgpack.unpack(ARGV[4])
for _, sample in ipairs(news) do
  local known = take(sample[KEY])
  if known then
    sample[PAGES] = math.max(sample[PAGES], known[PAGES])
    sample[DROPPED] = sample[DROPPED] + known[DROPPED]
    sample[SAVED] = sample[SAVED] + known[SAVED]
  end
  add(sample)
end
if #news > 0 then
  redis.call('HSET', site, 'samples', cmsgpack.pack(samples))
end
if name ~= '' and not stored[3] then
  redis.call('HSET', site, 'name', name)
end
return 1
