local now = clock()
remove(name)
remember(now)
return { 'ok' }
