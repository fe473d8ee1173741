local seq, body = ARGV[6], ARGV[7]
local now = clock()
local thread = load(name, now)
local refused = misplaced(thread, seq)
if refused then return refused end
store_fold(name, seq, body, true, now)
local gone = tonumber(seq) - tonumber(thread.base)
redis.call('LTRIM', key('r', name), text(gone), -1)
redis.call('HSET', key('t', name), 'base', seq)
for _, old in ipairs(redis.call('ZRANGEBYSCORE', key('i', name), '-inf', '(' .. seq)) do
    drop_fold(name, old)
end
remember(now)
return { 'ok' }
