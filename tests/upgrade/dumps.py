"""Private servers of databases, and what they hold as files that they read again."""
import contextlib
import glob
import gzip
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

# As in tests/servers, whose servers read the dumps.
USER, PASSWORD = "fugato", "not-to-be-shown"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def run(*line, **options):
    return subprocess.run(line, check=True, capture_output=True, **options).stdout


def keep(folder, name, data):
    """Time and name of the original would make each file another one."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / name, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as out:
        out.write(data)


class Server:
    """A server in a folder of its own, until the block that it is used in ends."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="fugato-upgrade-server-"))
        self.port, self.process = free_port(), None

    def start(self, *line, **options):
        log = open(self.folder / "server.log", "wb")
        line = [str(part) for part in line]
        self.process = subprocess.Popen(line, stdout=log, stderr=log, cwd=self.folder, **options)
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                time.sleep(1)
                return self
            time.sleep(0.1)
        raise SystemExit((self.folder / "server.log").read_text())

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder)


class Postgres(Server):
    def __enter__(self):
        programs = Path(sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1])
        options = {}
        if os.getuid() == 0:
            owner = pwd.getpwnam("postgres").pw_uid
            os.chown(self.folder, owner, -1)
            options = {"user": owner}
        self.programs, data = programs, self.folder / "data"
        password = self.folder / "password"
        password.write_text(PASSWORD)
        how = ["--username", USER, "--auth=password", "--encoding=UTF8", "--locale=C.UTF-8"]
        made = [programs / "initdb", *how, f"--pwfile={password}", "-D", data]
        run(*made, cwd=self.folder, **options)
        settings = [f"port={self.port}", "listen_addresses=127.0.0.1", "unix_socket_directories="]
        line = [programs / "postgres", "-D", data]
        self.start(*line, *[part for setting in settings for part in ("-c", setting)], **options)
        for program in PROGRAMS:
            run(programs / "psql", self.url("postgres"), "-c", f"CREATE DATABASE {program}")
        return self

    def url(self, program):
        return f"postgres://{USER}:{PASSWORD}@127.0.0.1:{self.port}/{program}"

    def dump(self, folder):
        for program in PROGRAMS:
            sql = run(self.programs / "pg_dump", "--no-owner", "--inserts", self.url(program))
            # Later ones begin with orders that only a psql as new as pg_dump reads.
            lines = [line for line in sql.splitlines(True) if not line.startswith(b"\\")]
            keep(folder, f"{program}.sql.gz", b"".join(lines))


class MariaDb(Server):
    def __enter__(self):
        data, user = self.folder / "data", pwd.getpwuid(os.getuid()).pw_name
        made = ["mariadb-install-db", "--no-defaults", "--skip-test-db", f"--datadir={data}"]
        run(*made, "--auth-root-authentication-method=normal", f"--user={user}")
        begin = self.folder / "init.sql"
        databases = "".join(f"CREATE DATABASE {program};\n" for program in PROGRAMS)
        made = f"CREATE USER '{USER}'@'127.0.0.1' IDENTIFIED BY '{PASSWORD}';\n"
        begin.write_text(f"{databases}{made}GRANT ALL PRIVILEGES ON *.* TO '{USER}'@'127.0.0.1';\n")
        where = [f"--datadir={data}", f"--socket={self.folder / 'socket'}", f"--port={self.port}"]
        how = ["--bind-address=127.0.0.1", "--skip-name-resolve", f"--user={user}"]
        program = shutil.which("mariadbd") or "/usr/sbin/mariadbd"
        return self.start(program, "--no-defaults", *where, *how, f"--init-file={begin}")

    def url(self, program):
        return f"mysql://{USER}:{PASSWORD}@127.0.0.1:{self.port}/{program}"

    def dump(self, folder):
        how = ["--no-defaults", "--host=127.0.0.1", f"--port={self.port}", f"--user={USER}"]
        how += [f"--password={PASSWORD}", "--hex-blob", "--routines", "--skip-comments"]
        for program in PROGRAMS:
            sql = run("mysqldump", *how, program)
            # The first line may be an order that only a client as new as mysqldump reads.
            lines = [line for line in sql.splitlines(True) if b"sandbox mode" not in line]
            keep(folder, f"{program}.sql.gz", b"".join(lines))


class Redis(Server):
    def __enter__(self):
        how = ["--port", self.port, "--bind", "127.0.0.1", "--dir", self.folder, "--save", ""]
        how += ["--appendonly", "yes", "--appendfsync", "always", "--requirepass", PASSWORD]
        return self.start("redis-server", *how)

    def url(self, program):
        return f"redis://:{PASSWORD}@127.0.0.1:{self.port}/{PROGRAMS.index(program)}"

    def dump(self, folder):
        ask = ["redis-cli", "-p", str(self.port), "-a", PASSWORD, "--no-auth-warning"]
        run(*ask, "SAVE")
        keep(folder, "dump.rdb.gz", (self.folder / "dump.rdb").read_bytes())


PROGRAMS = ["scheduler", "steward", "planner"]
SERVERS = {"postgres": Postgres, "mariadb": MariaDb, "redis": Redis}
