local from, limit = tonumber(ARGV[6]), tonumber(ARGV[7])
local thread = load(name, clock())
if not thread then return { 'ok', {} } end
local base = tonumber(thread.base)
if from <= base then return { 'compacted', thread.base } end
if limit == 0 then return { 'ok', {} } end
local first = from - base - 1
return { 'ok', redis.call('LRANGE', key('r', name), text(first), text(first + limit - 1)) }
