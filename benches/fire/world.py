"""The world outside: the databases and tools of tau2-bench, and the hand that kills.

Takes lines of JSON on a port of its own, which it prints first. It outlives those whom it kills, and
remembers what they had it do.
"""

import json
import os
import pickle
import signal
import socketserver
import sys
import threading
import time

from loguru import logger

logger.remove()

from tau2.environment.toolkit import ToolType  # noqa: E402


def domain(name):
    if name == "airline":
        from tau2.domains.airline.environment import get_environment, get_tasks
    else:
        from tau2.domains.retail.environment import get_environment, get_tasks
    environment = get_environment()
    # The base split is the whole of a domain.
    return Domain(environment, get_tasks())


class Domain:
    def __init__(self, environment, tasks):
        self.environment = environment
        self.born = pickle.dumps(environment.tools.db)
        self.tasks = {task.id: actions(task) for task in tasks}
        self.expected = {}

    def renew(self):
        self.environment.tools.db = pickle.loads(self.born)

    def writes(self, name):
        kind = self.environment.tools.tool_type(name)
        # What is neither a reading nor a writing tool changes nothing.
        return kind == ToolType.WRITE

    def play(self, name, arguments):
        """Does what is asked, and returns the text for the agent, and whether it was refused."""
        try:
            said = self.environment.use_tool(name, **arguments)
        except Exception as error:
            return f"Error: {error}", True
        return self.environment.to_json_str(said), False


def actions(task):
    criteria = task.evaluation_criteria
    return [
        {"name": action.name, "arguments": action.arguments}
        for action in (criteria.actions if criteria else None) or []
    ]


class World:
    def __init__(self):
        self.lock = threading.Lock()
        self.domains = {}
        self.domain = None
        self.task = None
        self.pid = None
        self.aim = None
        self.calls = 0
        self.ledger = []

    def tasks(self, asked):
        """The tasks of a domain, with the actions of each and which of these write."""
        name = asked["domain"]
        known = self.domains.get(name)
        if known is None:
            known = self.domains[name] = domain(name)
        return {
            task: [action | {"writes": known.writes(action["name"])} for action in actions]
            for task, actions in known.tasks.items()
        }

    def begin(self, asked):
        """A new world, before a task. `call` counts the calls until the one that brings the kill."""
        known = self.domain = self.domains[asked["domain"]]
        self.task = asked["task"]
        if self.task not in known.expected:
            known.renew()
            self.ledger = []
            for action in known.tasks[self.task]:
                self.play(action["name"], action["arguments"])
            known.expected[self.task] = (known.environment.get_db_hash(), self.ledger)
        known.renew()
        self.pid, self.calls, self.ledger = None, 0, []
        self.aim = None
        if asked["moment"] is not None:
            self.aim = (asked["call"], asked["moment"])
        return {}

    def hello(self, asked):
        """A process that plays the task says which one it is, and learns what is to be done."""
        self.pid = asked["pid"]
        used = {action["name"] for action in self.domain.tasks[self.task]}
        tools = [
            {
                "name": tool.name,
                "about": tool.short_desc or tool.name,
                "writes": self.domain.writes(tool.name),
                "schema": tool.params.model_json_schema(),
            }
            for tool in self.domain.environment.get_tools()
            if tool.name in used
        ]
        return {"actions": self.domain.tasks[self.task], "tools": tools}

    def call(self, asked):
        nth, self.calls = self.calls, self.calls + 1
        moment = None
        if self.aim is not None and self.aim[0] == nth:
            (_, moment), self.aim = self.aim, None
        if moment == "arrived":
            self.kill()
            return None
        name, arguments = asked["name"], asked["arguments"]
        said, refused = self.play(name, arguments)
        if moment == "done":
            self.kill()
            return None
        return {"said": said, "refused": refused, "moment": moment}

    def play(self, name, arguments):
        said, refused = self.domain.play(name, arguments)
        if not refused and self.domain.writes(name):
            self.ledger.append({"name": name, "arguments": arguments})
        return said, refused

    def seen(self, asked):
        """How often the world did this."""
        return {"times": self.ledger.count({"name": asked["name"], "arguments": asked["arguments"]})}

    def end(self, asked):
        expected, asked = self.domain.expected[self.task]
        return {
            "right": self.domain.environment.get_db_hash() == expected,
            # One action of the suite is refused by its own tools.
            "asked": asked,
            "done": self.ledger,
            "killed": self.aim is None,
        }

    def kill(self, after=0):
        time.sleep(after)
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


class Visitor(socketserver.StreamRequestHandler):
    def handle(self):
        try:
            self.listen()
        except ConnectionError:
            # The other side was killed.
            pass

    def listen(self):
        for line in self.rfile:
            asked = json.loads(line)
            with world.lock:
                answer = getattr(world, asked["do"])(asked)
            if answer is None:
                return
            moment = answer.pop("moment", None)
            self.wfile.write(json.dumps(answer).encode() + b"\n")
            if moment is not None:
                world.kill(0 if moment == "told" else 0.005)


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


def end_with_parent():
    """The other end of the input closes when whoever started this is gone."""
    sys.stdin.read()
    os._exit(0)


threading.Thread(target=end_with_parent, daemon=True).start()
world = World()
with Server(("127.0.0.1", 0), Visitor) as server:
    print(server.server_address[1], flush=True)
    server.serve_forever()
