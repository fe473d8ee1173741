"""What the players in Python share: the way to the world, and a fork for each process that dies.

A player takes a folder a line, plays in a process of its own until that ends or is killed, and
says how it ended. Importing the engine is done once, before the fork.
"""

import json
import os
import socket
import sys
import traceback


class World:
    def __init__(self, port):
        self.stream = socket.create_connection(("127.0.0.1", port)).makefile("rwb")

    def ask(self, **asked):
        self.stream.write(json.dumps(asked).encode() + b"\n")
        self.stream.flush()
        answer = self.stream.readline()
        if not answer:
            raise ConnectionError("the world did not answer")
        return json.loads(answer)

    def call(self, action):
        return self.ask(do="call", name=action["name"], arguments=action["arguments"])["said"]


def play(version, player):
    """Says the version, then forks `player(world, actions, folder)` for each line."""
    port = int(sys.argv[1])
    print(version, flush=True)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                world = World(port)
                actions = world.ask(do="hello", pid=os.getpid())["actions"]
                player(world, actions, line.strip())
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        _, status = os.waitpid(child, 0)
        print({0: "done", 9: "died"}.get(status, "failed"), flush=True)
