local now = clock()
local thread = load(name, now) or none(name)
if thread.lease and tonumber(thread.lease) > now then
    return { 'busy', thread.owner or '', thread.lease }
end
local lease = grant(thread, ARGV[6], ARGV[7], now)
remember(now)
sweep(now, 2)
return { 'ok', { lease } }
