-- Keeps samples of a site's texts, and the name of a site whose key does not say it, beside its counts.
--
-- KEYS[1]  the site, see observe.lua; here, of its fields:
--          'samples'  lists of key, text, pages that have it, documents that lack it and documents that have it
--                     because of what is known of the site; of each kind, the last one was seen last
--          'name'     what it is called
-- ARGV     its name, or nothing; most samples that documents lack or have, most of those on many pages; and
--          new samples, as in the field
-- Answer   1, or 0 where nothing is counted of the site: its samples come and go with it
--
-- Samples are packed with MessagePack, whose strings are bytes.

local KEY, PAGES, DROPPED, SAVED = 1, 3, 4, 5

local site, name = KEYS[1], ARGV[1]
local stored = redis.call('HMGET', site, 'state', 'samples', 'name')
if not stored[1] then
  return 0
end

-- Those of a kind, of which as many are kept as `most`; `rank` is how much one tells.
local changed = {
  most = tonumber(ARGV[2]),
  rank = function(sample) return sample[DROPPED] + sample[SAVED] end,
}
local repeated = {
  most = tonumber(ARGV[3]),
  rank = function(sample) return sample[PAGES] end,
}
local known = {}

local function kind(sample)
  return sample[DROPPED] + sample[SAVED] > 0 and changed or repeated
end

local function append(sample)
  local samples = kind(sample)
  samples[#samples + 1] = sample
  known[sample[KEY]] = sample
end

local function remove(sample)
  local samples = kind(sample)
  for at = 1, #samples do
    if samples[at] == sample then
      known[sample[KEY]] = nil
      return table.remove(samples, at)
    end
  end
end

-- The sample that tells least, of several the oldest; nothing while there is room.
local function replaceable(samples)
  if #samples < samples.most then
    return nil
  end
  local least, rank = samples[1], samples.rank(samples[1])
  for at = 2, #samples do
    local other = samples.rank(samples[at])
    if other < rank then
      least, rank = samples[at], other
    end
  end
  return least
end

-- A text that was dropped or saved makes its way, so that new ones are seen; one that is on many pages has to be
-- on no fewer than another.
local function add(sample)
  local samples = kind(sample)
  local least = replaceable(samples)
  if least and samples == repeated and sample[PAGES] < least[PAGES] then
    return
  end
  if least then
    remove(least)
  end
  append(sample)
end

for _, sample in ipairs(stored[2] and cmsgpack.unpack(stored[2]) or {}) do
  append(sample)
end
local news = cmsgpack.unpack(ARGV[4])
for _, sample in ipairs(news) do
  local before = known[sample[KEY]]
  if before then
    remove(before)
    sample[PAGES] = math.max(sample[PAGES], before[PAGES])
    sample[DROPPED] = sample[DROPPED] + before[DROPPED]
    sample[SAVED] = sample[SAVED] + before[SAVED]
  end
  add(sample)
end
if #news > 0 then
  local kept = {}
  for _, samples in ipairs({changed, repeated}) do
    for at = 1, #samples do
      kept[#kept + 1] = samples[at]
    end
  end
  redis.call('HSET', site, 'samples', cmsgpack.pack(kept))
end
if name ~= '' and not stored[3] then
  redis.call('HSET', site, 'name', name)
end
return 1
