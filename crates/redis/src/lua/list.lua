-- Returns the last name that was looked at beside the lines, as some may be of threads whose time
-- is over.
local least, most, limit = ARGV[6], ARGV[7], ARGV[8]
local now = clock()
local found = redis.call('ZRANGEBYLEX', names, least, most, 'LIMIT', 0, limit)
local lines = {}
for _, of in ipairs(found) do
    local thread = load(of, now)
    if thread then lines[#lines + 1] = { of, thread.head, thread.status, thread.till } end
end
return { 'ok', #found, found[#found] or '', lines }
