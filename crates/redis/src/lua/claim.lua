local n, owner, ttl, prefix = tonumber(ARGV[6]), ARGV[7], ARGV[8], ARGV[9]
local excepted = {}
for at = 10, #ARGV do excepted[ARGV[at]] = true end
local now = clock()
-- Those whose lease ran out wait with the others again.
for _, of in ipairs(redis.call('ZRANGEBYSCORE', held_set, '-inf', text(now))) do
    redis.call('HDEL', key('t', of), 'lease')
    redis.call('ZREM', held_set, of)
    local due = redis.call('HGET', key('t', of), 'due')
    if due then redis.call('ZADD', due_set, due, of) end
end
local leases = {}
-- Those that stay in the set, of other agents or excepted, are passed by their rank, a page at a time.
local due, passed = redis.call('ZCOUNT', due_set, '-inf', text(now)), 0
while #leases < n and passed < due do
    local last = math.min(due, passed + math.min(n - #leases, 100)) - 1
    for _, of in ipairs(redis.call('ZRANGE', due_set, passed, last)) do
        if string.sub(of, 1, #prefix) ~= prefix or excepted[of] then
            passed = passed + 1
        else
            local thread = load(of, now)
            if thread then
                leases[#leases + 1] = grant(thread, owner, ttl, now)
            else
                redis.call('ZREM', due_set, of)
            end
            due = due - 1
        end
    end
end
remember(now)
sweep(now, 100)
return { 'ok', leases }
