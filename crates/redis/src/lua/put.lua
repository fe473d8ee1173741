local seq, body = ARGV[6], ARGV[7]
local now = clock()
local thread = load(name, now)
local refused = misplaced(thread, seq)
if refused then return refused end
store_fold(name, seq, body, seq == thread.base and seq ~= '0', now)
sweep(now, 2)
return { 'ok' }
