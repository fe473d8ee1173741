local now = clock()
local thread = load(name, now)
if thread and thread.fence == ARGV[6] and thread.owner then
    redis.call('HDEL', key('t', name), 'owner', 'lease')
    thread.lease = false
    place(thread, now)
    remember(now)
end
return { 'ok' }
