local fence, ttl = ARGV[6], ARGV[7]
local now = clock()
local thread = load(name, now)
-- One that was given back has no owner; one that ran out and that nobody took still has.
if not thread or thread.fence ~= fence or not thread.owner then
    return { 'lost' }
end
thread.lease = text(now + tonumber(ttl))
redis.call('HSET', key('t', name), 'lease', thread.lease)
redis.call('HDEL', key('t', name), 'signals')
place(thread, now)
remember(now)
return { 'ok', text(now), thread.lease, thread.signals }
