-- Says of a site what does not take to read all that is known of it.
--
-- KEYS[1]  the site, see observe.lua and samples.lua
-- Answer   its fields 'state' and 'name', the milliseconds that it has to live, the bytes that it takes

local site = KEYS[1]
local stored = redis.call('HMGET', site, 'state', 'name')
return {stored[1], stored[2], redis.call('PTTL', site), redis.call('MEMORY', 'USAGE', site)}
