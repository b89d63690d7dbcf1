-- Counts pages of a site, each unless it or a copy of it was counted before, and answers what was counted before
-- each.
--
-- KEYS[1]  the site, a hash:
--          'state'       pages counted; what the count of a text, and the pages of a structure, may be too low by;
--                        texts and structures kept; when the counts began or were last halved, in seconds since
--                        1970: four bytes each
--          'texts'       of each text its key and the pages that have it
--          'structures'  of each structure its key, its pages, its blocks, the sum of their probabilities
--          'pages'       the keys of the pages and of their contents, 'pages0' to 'pages63' once there are many
-- ARGV     most pages, most texts, most structures, seconds to live, seconds until counts are halved, and of each
--          page three strings: its key and those of its content, the keys of its texts, and of each of its
--          structures the key, the blocks, the sum of their probabilities
-- Answer   a string per page: 1 if the page was counted before, 2 if it was not, but one with a key of its content;
--          the pages counted, the count of each text, and of each structure all that is kept; zeros for what is
--          not known; and one more, empty, if what was kept of the site was damaged: it is counted anew
--
-- A key is five bytes. The first byte of the key of a text or structure is below 32: entries are kept in groups
-- of the same first byte, in which they have the other four. A field has the number of entries in each group, two
-- bytes each, then the groups. All integers are big-endian.

local PAGE, REST = 5, 4
local TEXT, STRUCTURE = REST + 2, REST + 2 + 4 + 6
local NO_TEXT, NO_STRUCTURE = ('\0'):rep(TEXT - REST), ('\0'):rep(STRUCTURE - REST)
local ONE_PAGE = struct.pack('>I2', 1)
local STATE, STATE_BYTES = '>I4I4I4I4I4I4', 24
local GROUPS = 32
local SIZES = '>' .. ('I2'):rep(GROUPS)
local NEW, COUNTED, COPY = 0, 1, 2
local FEW_PAGES, PAGE_FIELDS = 256, 64
local FEW_SEARCHES = 32
local PACKED_AT_ONCE = 500
local PRIME = 2 ^ 32 + 15

local site = KEYS[1]
local most_pages, most_texts, most_structures = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local lifetime, half_life = ARGV[4], tonumber(ARGV[5])
local time = redis.call('TIME')
local now, salt = tonumber(time[1]), 2 * tonumber(time[2]) + 1

-- Whether a field has as many entries as it says; one that is not there has none.
local function is_whole(packed, width)
  if not packed then
    return true
  end
  local size = 2 * GROUPS
  if #packed >= size then
    for index, entries in ipairs({struct.unpack(SIZES, packed)}) do
      size = size + (index <= GROUPS and entries * width or 0)
    end
  end
  return size == #packed
end

local stored = redis.pcall('HMGET', site, 'state', 'texts', 'structures')
if stored.err and not stored.err:find('WRONGTYPE', 1, true) then
  return stored
end
local is_no_hash = stored.err ~= nil
local is_damaged = is_no_hash or stored[1] and #stored[1] ~= STATE_BYTES
    or not is_whole(stored[2], TEXT) or not is_whole(stored[3], STRUCTURE)
if is_damaged then
  stored = {}
end
local pages, texts_floor, structures_floor, begun, _ = 0, 0, 0, now
if stored[1] then
  pages, texts_floor, structures_floor, _, _, begun = struct.unpack(STATE, stored[1])
end
local changed = false

local function load(packed, width)
  local entries = {groups = {}, searches = {}, width = width, size = 0}
  local sizes = packed and {struct.unpack(SIZES, packed)}
  local start = 2 * GROUPS + 1
  for index = 1, GROUPS do
    local size = packed and sizes[index] or 0
    entries.groups[index] = packed and packed:sub(start, start + size * width - 1) or ''
    entries.size = entries.size + size
    start = start + size * width
  end
  return entries
end

-- Packs a list of the last four bytes of a key, as a number, the value there, and so on.
local function pack_group(list, width)
  local packed, entry = {}, 'I4c' .. width - REST
  for at = 1, #list, 2 * PACKED_AT_ONCE do
    local last = math.min(at + 2 * PACKED_AT_ONCE - 1, #list)
    packed[#packed + 1] = struct.pack('>' .. entry:rep((last - at + 1) / 2), unpack(list, at, last))
  end
  return table.concat(packed)
end

-- The key of a table for that of an entry: nobody foresees it, so nobody makes keys that collide in the table.
local function salted(rest)
  return rest * salt % PRIME
end

-- The group of a number, unpacked into such a list once it is searched often: each search of a packed group reads
-- it through, and a page may have thousands of texts that were made to share a group.
local function open(entries, index)
  local group, searches = entries.groups[index], (entries.searches[index] or 0) + 1
  entries.searches[index] = searches
  if type(group) == 'table' or searches <= FEW_SEARCHES then
    return group
  end
  local list, entry = {places = {}}, '>I4c' .. entries.width - REST
  for at = 1, #group, entries.width do
    local rest, value = struct.unpack(entry, group, at)
    list[#list + 1], list[#list + 2] = rest, value
    list.places[salted(rest)] = #list
  end
  entries.groups[index] = list
  return list
end

local function close_all(entries)
  for index, group in ipairs(entries.groups) do
    entries.groups[index] = type(group) == 'table' and pack_group(group, entries.width) or group
  end
  entries.searches = {}
end

local function save(entries)
  close_all(entries)
  local sizes = {}
  for index, group in ipairs(entries.groups) do
    sizes[index] = #group / entries.width
  end
  return struct.pack(SIZES, unpack(sizes)) .. table.concat(entries.groups)
end

local texts, structures = load(stored[2], TEXT), load(stored[3], STRUCTURE)

-- The place of an entry in its group, or nil.
local function find(group, rest, width)
  local at = group:find(rest, 1, true)
  while at and (at - 1) % width ~= 0 do
    at = group:find(rest, at + 1, true)
  end
  return at
end

-- The group of a key, the place of the value in it, or nil, and what is kept there, or nothing.
local function get(entries, first, rest, nothing)
  local group = open(entries, first + 1)
  if type(group) == 'table' then
    local at = group.places[salted(rest)]
    return group, at, at and group[at] or nothing
  end
  local at = find(group, struct.pack('>I4', rest), entries.width)
  at = at and at + REST
  return group, at, at and group:sub(at, at + entries.width - REST - 1) or nothing
end

local function put(entries, first, rest, group, at, value)
  entries.size = entries.size + (at and 0 or 1)
  if type(group) == 'table' then
    if not at then
      at = #group + 2
      group[at - 1], group.places[salted(rest)] = rest, at
    end
    group[at] = value
  elseif at then
    entries.groups[first + 1] = group:sub(1, at - 1) .. value .. group:sub(at + #value)
  else
    entries.groups[first + 1] = group .. struct.pack('>I4', rest) .. value
  end
end

-- Puts what `change` makes of its pages and its place in the group under each key, and forgets it if that is nil.
local function change_all(entries, change)
  close_all(entries)
  entries.size = 0
  for index, group in ipairs(entries.groups) do
    local kept = {}
    for at = 1, #group, entries.width do
      local value = change((struct.unpack('>I2', group, at + REST)), group, at + REST)
      if value then
        kept[#kept + 1], kept[#kept + 2] = struct.unpack('>I4', group, at), value
      end
    end
    entries.size = entries.size + #kept / 2
    entries.groups[index] = pack_group(kept, entries.width)
  end
end

-- The most pages that any of the half of the entries with the fewest pages has.
local function median(entries)
  close_all(entries)
  local entries_with = {}
  for _, group in ipairs(entries.groups) do
    for at = REST + 1, #group, entries.width do
      local count = struct.unpack('>I2', group, at)
      entries_with[count] = (entries_with[count] or 0) + 1
    end
  end
  local count, found = 0, entries_with[0] or 0
  while 2 * found < entries.size do
    count = count + 1
    found = found + (entries_with[count] or 0)
  end
  return count
end

-- Forgets the half of the texts with the fewest pages, and takes so many as they had at most off the others.
local function prune_texts()
  local most = median(texts)
  change_all(texts, function(count)
    return count > most and struct.pack('>I2', count - most)
  end)
  texts_floor = texts_floor + most
end

-- Forgets the half of the structures with the fewest pages.
local function prune_structures()
  local most = median(structures)
  change_all(structures, function(count, group, at)
    return count > most and group:sub(at, at + STRUCTURE - REST - 1)
  end)
  structures_floor = structures_floor + most
end

local page_fields, obsolete_fields = {}, {}
local pages_are_forgotten = false

local function forget_pages()
  pages_are_forgotten = true
  for index = 0, PAGE_FIELDS - 1 do
    obsolete_fields[index + 1] = 'pages' .. index
  end
  obsolete_fields[PAGE_FIELDS + 1] = 'pages'
end

-- The field that has the key of a page or content if it is counted; its value is in `page_fields` from here on.
local function page_field(key)
  local field = pages < FEW_PAGES and 'pages' or 'pages' .. key:byte(1) % PAGE_FIELDS
  if not page_fields[field] then
    page_fields[field] = not pages_are_forgotten and redis.call('HGET', site, field) or ''
  end
  return field
end

local function add_page_key(key)
  local field = page_field(key)
  page_fields[field] = page_fields[field] .. key
end

local function split_pages()
  local all = page_fields['pages']
  page_fields['pages'] = nil
  obsolete_fields[#obsolete_fields + 1] = 'pages'
  for at = 1, #all, PAGE do
    add_page_key(all:sub(at, at + PAGE - 1))
  end
end

-- Halves all numbers, and forgets which pages were counted: those that come again are counted as they are now.
local function halve()
  local function half(number)
    return math.floor(number / 2)
  end
  change_all(texts, function(count)
    return count > 1 and struct.pack('>I2', half(count))
  end)
  change_all(structures, function(count, group, at)
    local _, blocks, likelihood = struct.unpack('>I2I4I6', group, at)
    return count > 1 and struct.pack('>I2I4I6', half(count), half(blocks), half(likelihood))
  end)
  pages, texts_floor, structures_floor = half(pages), half(texts_floor + 1), half(structures_floor + 1)
  begun, changed = now, true
  forget_pages()
end

-- The status of a page: counted, by its key, which comes first, or a copy, by one of its content.
local function standing(keys)
  for at = 1, #keys, PAGE do
    local key = keys:sub(at, at + PAGE - 1)
    if find(page_fields[page_field(key)], key, PAGE) then
      return at == 1 and COUNTED or COPY
    end
  end
  return NEW
end

local function count_page(keys)
  for at = 1, #keys, PAGE do
    add_page_key(keys:sub(at, at + PAGE - 1))
  end
  pages = pages + 1
  changed = true
  if pages == FEW_PAGES then
    split_pages()
  end
end

-- Adds what is known of each text to the answer.
local function observe_texts(keys, counting, answer)
  for from = 1, #keys, REST + 1 do
    local first, rest = struct.unpack('>BI4', keys, from)
    local group, at, known = get(texts, first, rest, NO_TEXT)
    answer[#answer + 1] = known
    if counting then
      local count = at and struct.pack('>I2', struct.unpack('>I2', known) + 1) or ONE_PAGE
      put(texts, first, rest, group, at, count)
    end
  end
end

-- Adds what is known of each structure to the answer.
local function observe_structures(records, counting, answer)
  for from = 1, #records, REST + 11 do
    local first, rest, blocks, likelihood = struct.unpack('>BI4I4I6', records, from)
    local group, at, known = get(structures, first, rest, NO_STRUCTURE)
    answer[#answer + 1] = known
    if counting then
      local had_pages, had_blocks, had_likelihood = struct.unpack('>I2I4I6', known)
      local value = struct.pack('>I2I4I6', had_pages + 1, had_blocks + blocks, had_likelihood + likelihood)
      put(structures, first, rest, group, at, value)
    end
  end
end

local function observe(page_keys, text_keys, structure_records)
  local known = standing(page_keys)
  local counting = known == NEW and pages < most_pages
  local answer = {struct.pack('>BI4', known, pages)}
  observe_texts(text_keys, counting, answer)
  observe_structures(structure_records, counting, answer)
  if counting then
    count_page(page_keys)
    if texts.size > most_texts then
      prune_texts()
    end
    if structures.size > most_structures then
      prune_structures()
    end
  end
  return table.concat(answer)
end

if is_damaged then
  forget_pages()
elseif pages > 0 and now - begun >= half_life then
  halve()
end
local answers = {}
for first = 6, #ARGV, 3 do
  answers[#answers + 1] = observe(ARGV[first], ARGV[first + 1], ARGV[first + 2])
end
if changed then
  local fields = {
    'state', struct.pack(STATE, pages, texts_floor, structures_floor, texts.size, structures.size, begun),
    'texts', save(texts),
    'structures', save(structures),
  }
  for field, keys in pairs(page_fields) do
    fields[#fields + 1], fields[#fields + 2] = field, keys
  end
  if is_no_hash then
    redis.call('EXPIRE', site, 0)
  end
  redis.call('HSET', site, unpack(fields))  -- the first write: refused for want of memory, it leaves all as it was
  for _, field in ipairs(obsolete_fields) do
    if not page_fields[field] then
      redis.call('HDEL', site, field)
    end
  end
  redis.call('EXPIRE', site, lifetime)
end
if is_damaged then
  answers[#answers + 1] = ''
end
return answers
