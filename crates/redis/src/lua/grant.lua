-- Fences are numbered over all threads: whatever becomes of a thread, its fences never come again.
local function grant(thread, owner, ttl, now)
    local fence = text(redis.call('HINCRBY', store, 'fence', 1))
    local lease = text(now + tonumber(ttl))
    redis.call('HSET', key('t', thread.name), 'fence', fence, 'owner', owner, 'lease', lease)
    thread.fence, thread.lease = fence, lease
    place(thread, now)
    return { thread.name, fence, thread.head, lease, text(now) }
end
