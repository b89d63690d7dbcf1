-- Counts pages of a site, each unless it was counted before, and answers what was counted before each.
--
-- KEYS[1]  the site, a hash:
--          'state'       pages counted; what the count of a text, and the pages of a structure, may be too low by;
--                        texts and structures kept
--          'texts'       of each text its key and the pages that have it
--          'structures'  of each structure its key, its pages, its blocks, the sum of their probabilities
--          'pages'       the keys of the pages, 'pages0' to 'pages63' once there are many
-- ARGV     most pages, most texts, most structures, seconds to live, and of each page three strings:
--          its key, the keys of its texts, and of each of its structures the key, the blocks, the sum of their
--          probabilities
-- Answer   a string per page: 1 if the page was counted before, the pages counted, the count of each text, and
--          of each structure all that is kept; zeros for what is not known
--
-- A key is five bytes. Texts and structures are kept in groups of the same first byte, in which the entries
-- have the other four. All integers are big-endian.

local PAGE, REST = 5, 4
local TEXT, STRUCTURE = REST + 2, REST + 2 + 4 + 6
local NO_TEXT, NO_STRUCTURE = ('\0'):rep(TEXT - REST), ('\0'):rep(STRUCTURE - REST)
local FEW_PAGES, PAGE_FIELDS = 1024, 64

local site = KEYS[1]
local most_pages, most_texts, most_structures = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local lifetime = ARGV[4]

local stored = redis.call('HMGET', site, 'state', 'texts', 'structures')
local pages, texts_floor, structures_floor = 0, 0, 0
if stored[1] then
  pages, texts_floor, structures_floor = struct.unpack('>I4I4I4', stored[1])
end
local changed = false

local function load(packed, width)
  local entries = {groups = packed and cmsgpack.unpack(packed) or {}, width = width, size = 0}
  for _, group in pairs(entries.groups) do
    entries.size = entries.size + #group / width
  end
  return entries
end

local texts, structures = load(stored[2], TEXT), load(stored[3], STRUCTURE)

-- Where an entry is in its group, or nil.
local function find(group, rest, width)
  local at = group:find(rest, 1, true)
  while at and (at - 1) % width ~= 0 do
    at = group:find(rest, at + 1, true)
  end
  return at
end

-- What is kept under a key, or nothing, and the group and the place in it.
local function get(entries, first, rest, nothing)
  local group = entries.groups[first + 1] or ''
  local at = find(group, rest, entries.width)
  return at and group:sub(at + REST, at + entries.width - 1) or nothing, group, at
end

local function put(entries, first, rest, value, group, at)
  if at then
    group = group:sub(1, at + REST - 1) .. value .. group:sub(at + entries.width)
  else
    group = group .. rest .. value
    entries.size = entries.size + 1
  end
  entries.groups[first + 1] = group
end

-- The most pages that any of the half of the entries with the fewest pages has.
local function median(entries)
  local entries_with = {}
  for _, group in pairs(entries.groups) do
    for at = REST + 1, #group, entries.width do
      local count = struct.unpack('>I2', group, at)
      entries_with[count] = (entries_with[count] or 0) + 1
    end
  end
  local count, found = 0, 0
  while 2 * found < entries.size do
    count = count + 1
    found = found + (entries_with[count] or 0)
  end
  return count
end

-- Forgets the half of the entries with the fewest pages, and takes so many as they had at most off the others.
local function prune(entries, taken_off)
  local most = median(entries)
  entries.size = 0
  for index, group in pairs(entries.groups) do
    local kept = {}
    for at = 1, #group, entries.width do
      local count = struct.unpack('>I2', group, at + REST)
      if count > most then
        local left = taken_off and struct.pack('>I2', count - most) or group:sub(at + REST, at + REST + 1)
        kept[#kept + 1] = group:sub(at, at + REST - 1) .. left .. group:sub(at + REST + 2, at + entries.width - 1)
      end
    end
    entries.size = entries.size + #kept
    entries.groups[index] = #kept > 0 and table.concat(kept) or nil
  end
  return most
end

local page_fields = {}

local function page_field(page)
  local field = pages < FEW_PAGES and 'pages' or 'pages' .. page:byte(1) % PAGE_FIELDS
  page_fields[field] = page_fields[field] or redis.call('HGET', site, field) or ''
  return field
end

local function split_pages()
  local all = page_fields['pages']
  page_fields['pages'] = nil
  redis.call('HDEL', site, 'pages')
  for at = 1, #all, PAGE do
    local page = all:sub(at, at + PAGE - 1)
    local field = page_field(page)
    page_fields[field] = page_fields[field] .. page
  end
end

local function count_page(page, field)
  page_fields[field] = page_fields[field] .. page
  pages = pages + 1
  changed = true
  if pages == FEW_PAGES then
    split_pages()
  end
end

-- Adds what is known of each text to the answer.
local function observe_texts(keys, counting, answer)
  for at = 1, #keys, REST + 1 do
    local first, rest = keys:byte(at), keys:sub(at + 1, at + REST)
    local known, group, place = get(texts, first, rest, NO_TEXT)
    answer[#answer + 1] = known
    if counting then
      put(texts, first, rest, struct.pack('>I2', struct.unpack('>I2', known) + 1), group, place)
    end
  end
end

-- Adds what is known of each structure to the answer.
local function observe_structures(records, counting, answer)
  for at = 1, #records, REST + 11 do
    local first, rest, blocks, likelihood = struct.unpack('>Bc4I4I6', records, at)
    local known, group, place = get(structures, first, rest, NO_STRUCTURE)
    answer[#answer + 1] = known
    if counting then
      local had_pages, had_blocks, had_likelihood = struct.unpack('>I2I4I6', known)
      local now = struct.pack('>I2I4I6', had_pages + 1, had_blocks + blocks, had_likelihood + likelihood)
      put(structures, first, rest, now, group, place)
    end
  end
end

local function observe(page, text_keys, structure_records)
  local field = page_field(page)
  local is_known = find(page_fields[field], page, PAGE) ~= nil
  local counting = not is_known and pages < most_pages
  local answer = {struct.pack('>BI4', is_known and 1 or 0, pages)}
  observe_texts(text_keys, counting, answer)
  observe_structures(structure_records, counting, answer)
  if counting then
    count_page(page, field)
    if texts.size > most_texts then
      texts_floor = texts_floor + prune(texts, true)
    end
    if structures.size > most_structures then
      structures_floor = structures_floor + prune(structures, false)
    end
  end
  return table.concat(answer)
end

local answers = {}
for first = 5, #ARGV, 3 do
  answers[#answers + 1] = observe(ARGV[first], ARGV[first + 1], ARGV[first + 2])
end
if changed then
  local fields = {
    'state', struct.pack('>I4I4I4I4I4', pages, texts_floor, structures_floor, texts.size, structures.size),
    'texts', cmsgpack.pack(texts.groups),
    'structures', cmsgpack.pack(structures.groups),
  }
  for field, keys in pairs(page_fields) do
    fields[#fields + 1], fields[#fields + 2] = field, keys
  end
  redis.call('HSET', site, unpack(fields))
  redis.call('EXPIRE', site, lifetime)
end
return answers
