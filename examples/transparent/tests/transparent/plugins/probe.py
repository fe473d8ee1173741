"""A plugin that tries what it is told to try, and says how far it came."""
import ctypes
import errno
import fcntl
import json
import os
import resource
import socket
import subprocess
import sys
import threading
import time


def connect(family, kind, address):
    with socket.socket(family, kind) as made:
        made.connect(address)


def write(path):
    with open(path, "w") as file:
        file.write("x")


def library(name, *arguments):
    """Calls a function of the library of C."""
    c = ctypes.CDLL(None, use_errno=True)
    if getattr(c, name)(*arguments) == -1:
        raise OSError(ctypes.get_errno(), name)


def execute(it):
    """Executes a program: in a process of its own, or else in the place of this one."""
    try:
        subprocess.run([it], check=True)
    except OSError as error:
        if error.errno != errno.EPERM:
            raise
        os.execv(it, [it])


def fork(_):
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def orphan(_):
    """Leaves a process behind that tries to get away, and says which."""
    child = os.fork()
    if child != 0:
        return str(child)
    for leave in (os.setsid, lambda: os.setpgid(0, 0)):
        try:
            leave()
        except OSError:
            pass
    for file in (0, 1, 2):
        os.close(file)
    time.sleep(10_000)


def forks(_):
    """Starts processes until there are no more, or too many."""
    children = []
    try:
        while len(children) < 2000:
            child = os.fork()
            if child == 0:
                time.sleep(10_000)
            children.append(child)
        return "too many"
    finally:
        for child in children:
            os.kill(child, 9)
            os.waitpid(child, 0)


def spam(_):
    """Says more than anybody can hear: one long line, and many short ones."""
    for _ in range(64):
        sys.stdout.write("x" * (1 << 20))
    note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x" * 900}}
    for line in ("\n" + json.dumps(note), "\n}{ no JSON"):
        sys.stdout.write(line * 20_000)
    sys.stdout.write("\n")
    sys.stdout.flush()


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
    "execute": execute,
    "signal": lambda it: os.kill(os.getppid(), 0),
    "environ": lambda it: open(f"/proc/{os.getppid()}/environ").read(),
    "variable": lambda it: os.environ[it],
    "grow": lambda it: os.truncate(it, 2 << 30),
    "limits": limits,
    "chmod": lambda it: os.chmod(it, 0o777),
    "chown": lambda it: os.chown(it, os.getuid(), os.getgid()),
    "utime": lambda it: os.utime(it, (0, 0)),
    "fchmod": lambda it: os.fchmod(os.open(it, os.O_RDONLY), 0o777),
    "futimens": lambda it: os.utime(os.open(it, os.O_RDONLY), (0, 0)),
    "lchown": lambda it: os.lchown(it, os.getuid(), os.getgid()),
    "setns": lambda it: library("setns", 0, 0),
    "setxattr": lambda it: os.setxattr(it, "user.probe", b"x"),
    # FS_IOC_SETFLAGS, without any flag.
    "attributes": lambda it: fcntl.ioctl(os.open(it, os.O_RDONLY), 0x40086602, bytes(8)),
    "unshare": lambda it: library("unshare", 0x10000000),
    "mount": lambda it: library("mount", None, b"/", None, 0x4000, None),
    "chroot": os.chroot,
    "memfd": os.memfd_create,
    "shmget": lambda it: library("shmget", 0, 4096, 0o1600),
    "semget": lambda it: library("semget", 0, 1, 0o1600),
    "msgget": lambda it: library("msgget", 0, 0o1600),
    "mq_open": lambda it: library("mq_open", it.encode(), 0x42, 0o600, None),
    "inotify": lambda it: library("inotify_init1", 0),
    "setsid": lambda it: os.setsid(),
    "fork": fork,
    "thread": lambda it: threading.Thread(target=int).start(),
    "root": lambda it: library("sethostname", b"x", 1),
    # io_uring_setup and keyctl, as far as they have names.
    "ring": lambda it: library("syscall", 425, 1, bytes(120)),
    "key": lambda it: library("syscall", 250 if os.uname().machine == "x86_64" else 219, 0, -3, 1),
    "trace": lambda it: library("ptrace", 16, os.getppid(), None, None),
    "pipe": os.mkfifo,
    "device": lambda it: os.mknod(it, 0o20600, os.makedev(1, 3)),
    "orphan": orphan,
    "forks": forks,
    "spam": spam,
    # What is no try at the lock, but at whoever calls.
    "die": lambda it: os._exit(3),
    "hang": lambda it: time.sleep(10_000),
    "flood": lambda it: "x" * (10 * 1024 * 1024),
    "garbage": lambda it: print("}{ no JSON", flush=True),
}


def attempt(what, it):
    try:
        told = TRIES[what](it)
        return told if what in ("flood", "limits", "orphan", "forks") else "done"
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
