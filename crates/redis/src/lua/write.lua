-- What appending and forking share. Their arguments go on with: head, fence and nonce, the new
-- status with its time or nothing, the position and body of a base or nothing; then the records.
local head, fence, nonce, status, till = ARGV[6], ARGV[7], ARGV[8], ARGV[9], ARGV[10]
local base_seq, base_body, FIRST = ARGV[11], ARGV[12], 13

local function appended(thread, now, signals) return { 'ok', text(now), thread.head, signals } end

-- The answer to a commit whose first answer was lost, or nothing.
local function repeated(thread, now)
    if thread and thread.status and thread.nonce == nonce then
        return appended(thread, now, thread.delivered)
    end
    return nil
end

local function next_due(thread, now)
    if status == 'runnable' then
        -- It has been able to go on since it became so, not since its last record.
        if thread.status == 'runnable' then return thread.due end
        return text(now)
    end
    if till ~= '' then return till end
    return false
end

-- Writes a checked commit. The records come first: where memory is short their refusal is the
-- refusal of everything.
local function write(thread, now)
    local of = key('t', thread.name)
    for from = FIRST, #ARGV, 1000 do
        local to = math.min(from + 999, #ARGV)
        redis.call('RPUSH', key('r', thread.name), unpack(ARGV, from, to))
    end
    thread.head = text(tonumber(thread.head) + (#ARGV - FIRST + 1))
    if not thread.status then redis.call('ZADD', names, 0, thread.name) end
    local due, lease = next_due(thread, now), thread.lease
    local rests = status == 'waiting' or status == 'idle'
    if rests then lease = false end
    local signals = thread.signals or ''
    redis.call('HSET', of, 'head', thread.head, 'base', thread.base, 'fence', thread.fence,
        'nonce', nonce, 'status', status, 'till', till)
    if due ~= thread.due then
        if due then redis.call('HSET', of, 'due', due) else redis.call('HDEL', of, 'due') end
    end
    if rests and thread.owner then redis.call('HDEL', of, 'owner', 'lease') end
    if signals ~= '' then
        redis.call('HSET', of, 'delivered', signals)
        redis.call('HDEL', of, 'signals')
    elseif (thread.delivered or '') ~= '' then
        redis.call('HDEL', of, 'delivered')
    end
    local moved = due ~= thread.due or lease ~= thread.lease
    thread.due, thread.lease = due, lease
    if moved or thread.ends or (thread_ttl ~= '' and not due) then place(thread, now) end
    if base_seq ~= '' then store_fold(thread.name, base_seq, base_body, true, now) end
    remember(now)
    sweep(now, 2)
    return appended(thread, now, signals)
end
