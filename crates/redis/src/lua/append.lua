local now = clock()
local thread = load(name, now)
local again = repeated(thread, now)
if again then return again end
thread = thread or none(name)
if thread.head ~= head or thread.fence ~= fence then
    return { 'conflict', thread.head, thread.fence }
end
if base_seq ~= '' then
    local last = tonumber(thread.head) + (#ARGV - FIRST + 1)
    if tonumber(base_seq) < tonumber(thread.base) or tonumber(base_seq) > last then
        return { 'base', thread.base, thread.head }
    end
end
return write(thread, now)
