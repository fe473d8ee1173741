local n, owner, ttl = ARGV[6], ARGV[7], ARGV[8]
local now = clock()
-- Those whose lease ran out wait with the others again.
for _, of in ipairs(redis.call('ZRANGEBYSCORE', held_set, '-inf', text(now))) do
    redis.call('HDEL', key('t', of), 'owner', 'lease')
    redis.call('ZREM', held_set, of)
    local due = redis.call('HGET', key('t', of), 'due')
    if due then redis.call('ZADD', due_set, due, of) end
end
local leases = {}
for _, of in ipairs(redis.call('ZRANGEBYSCORE', due_set, '-inf', text(now), 'LIMIT', 0, n)) do
    local thread = load(of, now)
    if thread then
        leases[#leases + 1] = grant(thread, owner, ttl, now)
    else
        redis.call('ZREM', due_set, of)
    end
end
remember(now)
sweep(now, 100)
return { 'ok', leases }
