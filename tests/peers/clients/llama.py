"""Serves a small model with llama.cpp: `llama.py MODEL KEY PORT`. It goes on until it is ended."""

import signal
import sys

import xllamacpp

model, key, port = sys.argv[1:]
params = xllamacpp.CommonParams()
params.model.path = model
params.port = int(port)
params.n_ctx = 4096
params.n_parallel = 1
params.verbosity = 0
params.api_keys = [key]
# Threads that wait for each other are slow where others work too.
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
signal.pause()
