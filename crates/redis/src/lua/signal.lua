local thread = load(name, clock())
if not thread then return { 'missing' } end
-- A signal is one line of JSON.
local signals = thread.signals
if signals ~= '' then signals = signals .. '\n' end
redis.call('HSET', key('t', name), 'signals', signals .. ARGV[6])
return { 'ok' }
