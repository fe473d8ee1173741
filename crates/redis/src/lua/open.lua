if redis.call('HSETNX', store, 'version', ARGV[6]) == 1 then return { 'ok', ARGV[6] } end
return { 'ok', redis.call('HGET', store, 'version') }
