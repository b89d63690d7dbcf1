-- Puts a whole site in its place, unless more pages are counted there.
--
-- KEYS[1]  the site
-- ARGV     its pages, to compare; or nothing, to replace whatever is there; the milliseconds that it has to live,
--          or nothing; and its fields, each with its value
-- Answer   1, or 0 where more pages are counted

local site, pages, lifetime = KEYS[1], tonumber(ARGV[1]), ARGV[2]
local fields = {unpack(ARGV, 3)}  -- before the first write, as too many are an error
local state = pages and redis.call('HGET', site, 'state')
if state and #state >= 4 and struct.unpack('>I4', state) > pages then
  return 0
end
local refused = redis.pcall('HSET', site, fields[1], fields[2])  -- for want of memory, as DEL never is
if type(refused) == 'table' and not refused.err:find('WRONGTYPE', 1, true) then
  return refused
end
redis.call('DEL', site)
redis.call('HSET', site, unpack(fields))
if lifetime ~= '' then
  redis.call('PEXPIRE', site, lifetime)
end
return 1
