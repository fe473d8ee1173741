local seq = ARGV[6]
local thread = load(name, clock())
if thread then
    if thread.base == seq and seq ~= '0' then return { 'stands', seq } end
    drop_fold(name, seq)
end
return { 'ok' }
