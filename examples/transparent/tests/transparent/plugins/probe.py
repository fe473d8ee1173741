"""A plugin that tries what it is told to try, and says how far it came."""
import errno
import json
import os
import resource
import socket
import subprocess
import sys
import time


def connect(family, kind, address):
    with socket.socket(family, kind) as made:
        made.connect(address)


def write(path):
    with open(path, "w") as file:
        file.write("x")


def limits(_):
    names = ["CORE", "CPU", "DATA", "FSIZE", "NOFILE"]
    told = {name: resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[1] for name in names}
    return json.dumps(told | {"NICE": os.nice(0)})


TRIES = {
    "read": lambda it: open(it).read(),
    "list": os.listdir,
    "write": write,
    "truncate": lambda it: os.truncate(it, 0),
    "delete": os.remove,
    "link": lambda it: os.symlink("/etc", it),
    "tcp": lambda it: connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", int(it))),
    "udp": lambda it: connect(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", int(it))),
    "unix": lambda it: connect(socket.AF_UNIX, socket.SOCK_STREAM, it),
    "execute": lambda it: subprocess.run([it], check=True),
    "signal": lambda it: os.kill(os.getppid(), 0),
    "environ": lambda it: open(f"/proc/{os.getppid()}/environ").read(),
    "variable": lambda it: os.environ[it],
    "grow": lambda it: os.truncate(it, 2 << 30),
    "limits": limits,
    # What is no try at the lock, but at whoever calls.
    "die": lambda it: os._exit(3),
    "hang": lambda it: time.sleep(10_000),
    "flood": lambda it: "x" * (10 * 1024 * 1024),
    "garbage": lambda it: print("}{ no JSON", flush=True),
}


def attempt(what, it):
    try:
        told = TRIES[what](it)
        return told if what in ("flood", "limits") else "done"
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))
    except KeyError as error:
        return f"there is no {error}"


TOOL = {
    "name": "try",
    "description": "Tries something.",
    "inputSchema": {
        "type": "object",
        "properties": {"what": {"type": "string"}, "with": {"type": "string"}},
        "required": ["what"],
    },
}

for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    params = request.get("params") or {}
    reply = {"jsonrpc": "2.0", "id": request["id"]}
    match request["method"]:
        case "initialize":
            reply["result"] = {
                "protocolVersion": params.get("protocolVersion", "2025-11-25"),
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "probe", "version": "1.0"},
            }
        case "tools/list":
            reply["result"] = {"tools": [TOOL]}
        case "tools/call":
            asked = params["arguments"]
            text = attempt(asked["what"], asked.get("with", ""))
            reply["result"] = {"content": [{"type": "text", "text": text}]}
        case method:
            reply["error"] = {"code": -32601, "message": f"there is no {method}"}
    print(json.dumps(reply), flush=True)
