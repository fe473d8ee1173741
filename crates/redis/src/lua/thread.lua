-- The arguments of every script: the newest time that the caller has seen, the time by the caller's
-- own clock or nothing, how long a thread and a snapshot are kept or nothing, and a thread.
local seen, given, thread_ttl, fold_ttl, name = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local root = KEYS[1] .. ':'
local store, names = root .. 'store', root .. 'names'
local due_set, held_set = root .. 'due', root .. 'held'
local end_set, fold_end_set = root .. 'ends', root .. 'foldends'

-- The kind stands before the name, so that no name makes one key into another.
local function key(kind, of) return root .. kind .. ':' .. of end

-- Lua writes large numbers with an exponent.
local function text(number) return string.format('%.0f', number) end

local function clock()
    local now
    if given ~= '' then
        now = tonumber(given)
    else
        local time = redis.call('TIME')
        now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
    end
    local newest = tonumber(redis.call('HGET', store, 'clock') or seen)
    return math.max(now, newest, tonumber(seen))
end

local function remember(now) redis.call('HSET', store, 'clock', text(now)) end

local function drop_fold(of, seq)
    redis.call('HDEL', key('s', of), seq)
    redis.call('ZREM', key('i', of), seq)
    redis.call('ZREM', fold_end_set, seq .. ':' .. of)
end

local function remove(of)
    for _, seq in ipairs(redis.call('ZRANGE', key('i', of), 0, -1)) do
        redis.call('ZREM', fold_end_set, seq .. ':' .. of)
    end
    redis.call('UNLINK', key('t', of), key('r', of), key('s', of), key('i', of))
    for _, set in ipairs({ names, due_set, held_set, end_set }) do
        redis.call('ZREM', set, of)
    end
end

-- A thread, or nothing if there is none or its time is over.
local function load(of, now)
    local row = redis.call('HMGET', key('t', of), 'head', 'base', 'fence', 'nonce', 'status', 'till',
        'due', 'owner', 'lease', 'signals', 'delivered', 'ends')
    if not row[3] then return nil end
    if row[12] and tonumber(row[12]) <= now then
        remove(of)
        return nil
    end
    return {
        name = of, head = row[1] or '0', base = row[2] or '0', fence = row[3], nonce = row[4],
        status = row[5], till = row[6] or '', due = row[7], owner = row[8], lease = row[9],
        signals = row[10] or '', delivered = row[11] or '', ends = row[12],
    }
end

local function none(of)
    return { name = of, head = '0', base = '0', fence = '0', due = false, lease = false }
end

-- Puts a thread where claims look, and notes when its time is over. A thread that will go on by
-- itself has no end, and a lease holds off the end of the others.
local function place(thread, now)
    if thread.lease then
        redis.call('ZADD', held_set, thread.lease, thread.name)
    else
        redis.call('ZREM', held_set, thread.name)
    end
    if thread.due and not thread.lease then
        redis.call('ZADD', due_set, thread.due, thread.name)
    else
        redis.call('ZREM', due_set, thread.name)
    end
    if thread_ttl ~= '' and not thread.due then
        local from = math.max(now, tonumber(thread.lease or now))
        local ends = text(from + tonumber(thread_ttl))
        redis.call('HSET', key('t', thread.name), 'ends', ends)
        redis.call('ZADD', end_set, ends, thread.name)
    elseif thread.ends then
        redis.call('HDEL', key('t', thread.name), 'ends')
        redis.call('ZREM', end_set, thread.name)
    end
end

-- A few of those whose time is over go with every write, so that they go although nobody asks for
-- them.
local function sweep(now, most)
    if thread_ttl ~= '' then
        local over = redis.call('ZRANGEBYSCORE', end_set, '-inf', text(now), 'LIMIT', 0, most)
        for _, of in ipairs(over) do remove(of) end
    end
    if fold_ttl ~= '' then
        local over = redis.call('ZRANGEBYSCORE', fold_end_set, '-inf', text(now), 'LIMIT', 0, most)
        for _, member in ipairs(over) do
            local seq, of = string.match(member, '^(%d+):(.*)$')
            drop_fold(of, seq)
        end
    end
end

-- Stores a fold. One that records stand upon is kept as long as they are.
local function store_fold(of, seq, body, pinned, now)
    local member = seq .. ':' .. of
    local stays = pinned or fold_ttl == ''
    if not stays and redis.call('HEXISTS', key('s', of), seq) == 1 then
        stays = not redis.call('ZSCORE', fold_end_set, member)
    end
    redis.call('HSET', key('s', of), seq, body)
    redis.call('ZADD', key('i', of), seq, seq)
    if stays then
        redis.call('ZREM', fold_end_set, member)
    else
        redis.call('ZADD', fold_end_set, text(now + tonumber(fold_ttl)), member)
    end
end

-- Why a fold cannot lie at this position, or nothing.
local function misplaced(thread, seq)
    if not thread or not thread.status or tonumber(seq) > tonumber(thread.head) then
        return { 'missing' }
    end
    if tonumber(seq) < tonumber(thread.base) then return { 'compacted', thread.base } end
    return nil
end
