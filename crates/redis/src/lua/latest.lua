local now = clock()
if not load(name, now) then return { 'none' } end
while true do
    local seq = redis.call('ZREVRANGEBYSCORE', key('i', name), ARGV[6], '-inf', 'LIMIT', 0, 1)[1]
    if not seq then return { 'none' } end
    local ends = redis.call('ZSCORE', fold_end_set, seq .. ':' .. name)
    if not ends or tonumber(ends) > now then
        return { 'ok', seq, redis.call('HGET', key('s', name), seq) }
    end
    drop_fold(name, seq)
end
