local now = clock()
local thread = load(name, now)
if not thread or not thread.status then return { 'none' } end
return {
    'ok', text(now), thread.head, thread.base, thread.fence, thread.nonce, thread.status, thread.till,
    thread.lease or '',
}
