-- The first record is no record but the fold that the new thread begins with, and the one before
-- it the position of that fold.
FIRST = FIRST + 2
local now = clock()
local thread = load(name, now)
local again = repeated(thread, now)
if again then return again end
thread = thread or none(name)
if thread.status or thread.fence ~= fence then
    return { 'conflict', thread.head, thread.fence }
end
local at = ARGV[FIRST - 2]
thread.base, thread.head = at, at
store_fold(name, at, ARGV[FIRST - 1], true, now)
return write(thread, now)
