"""A real PgBouncer in front of the PostgreSQL server of the tests.

As root it runs as another user, since it refuses root. Its files lie in a temporary directory.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
from psycopg.conninfo import conninfo_to_dict

from tests.kit.waiting import until
from tests.postgres import TRIES, free_port, other_user

PROGRAM = "pgbouncer"
SEARCHED = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin"
POOL_SIZE = 2
GUIDE = Path(__file__).parents[1] / "docs" / "how-to" / "production.md"


class NoPgBouncer(Exception):
    """There is no PgBouncer here; the message says what was looked for."""


def documented() -> dict[str, str]:
    """Returns the settings of PgBouncer in the guide."""
    found = re.search(r"```ini\n(\[databases\].*?)```", GUIDE.read_text(), re.DOTALL)
    assert found, f"{GUIDE.name} has no pgbouncer.ini"
    parser = ConfigParser()
    parser.read_string(found[1])
    return dict(parser[PROGRAM])


class PgBouncer:
    """One process that pools connections to the server of a URL."""

    def __init__(self, server_url: str, settings: dict[str, str]) -> None:
        program = shutil.which(PROGRAM, path=SEARCHED)
        if program is None:
            raise NoPgBouncer(f"no PgBouncer: put {PROGRAM} on the PATH (Debian: apt-get install {PROGRAM})")
        self._server = conninfo_to_dict(server_url)
        self._user = other_user() if os.geteuid() == 0 else None
        self._folder = Path(tempfile.mkdtemp(prefix="turnout-pgbouncer-"))
        self._log = self._folder / "log"
        self.port = free_port()
        self._process = self._started(program, self._written(settings))

    def _written(self, settings: dict[str, str]) -> Path:
        """Returns the file of its settings."""
        host, port = self._server.get("host", "127.0.0.1"), self._server.get("port", 5432)
        file, users = self._folder / "pgbouncer.ini", self._folder / "users"
        given = {
            **documented(),
            "default_pool_size": str(POOL_SIZE),
            "listen_addr": "127.0.0.1",
            "listen_port": str(self.port),
            "unix_socket_dir": "",
            "auth_type": "trust",
            "auth_file": str(users),
            "admin_users": self._server["user"],
            **settings,
        }
        lines = [f"{name} = {value}" for name, value in given.items()]
        file.write_text("\n".join(["[databases]", f"* = host={host} port={port}", "[pgbouncer]", *lines, ""]))
        users.write_text(f'"{self._server["user"]}" "{self._server.get("password") or ""}"\n')
        self._log.touch()
        if self._user:
            for each in (self._folder, file, users, self._log):
                shutil.chown(each, self._user)
        return file

    def _started(self, program: str, file: Path) -> subprocess.Popen[bytes]:
        with self._log.open("wb") as log:
            return subprocess.Popen(
                [program, str(file)],
                cwd=self._folder,
                user=self._user,
                group=pwd.getpwnam(self._user).pw_gid if self._user else None,
                extra_groups=[] if self._user else None,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def answers(self) -> bool:
        with contextlib.suppress(psycopg.OperationalError):
            return bool(self.show("version"))
        return False

    def log(self) -> str:
        return self._log.read_text()

    def url(self) -> str:
        """Returns the URL of the server's database through this PgBouncer."""
        return f"postgresql://{self._server['user']}@127.0.0.1:{self.port}/{self._server['dbname']}"

    def show(self, what: str) -> list[dict[str, Any]]:
        """Returns the rows of ``SHOW`` in its console, which knows the simple protocol only."""
        with contextlib.closing(
            psycopg.connect(
                host="127.0.0.1",
                port=self.port,
                user=self._server["user"],
                dbname=PROGRAM,
                autocommit=True,
                cursor_factory=psycopg.ClientCursor,
            )
        ) as console:
            cursor = console.execute(f"show {what}".encode())
            names = [column.name for column in cursor.description or ()]
            return [dict(zip(names, row, strict=True)) for row in cursor]

    def destroy(self) -> None:
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


class Pooled(NamedTuple):
    """A database, through PgBouncer and directly."""

    url: str
    direct_url: str
    bouncer: PgBouncer


@contextlib.contextmanager
def pooled(server_url: str, **settings: str) -> Iterator[Pooled]:
    """Yields the database through a PgBouncer with these settings over those of the guide. Raises NoPgBouncer if there
    is none here."""
    for _ in range(TRIES):
        bouncer = PgBouncer(server_url, settings)
        try:
            until(lambda: bouncer.has_ended() or bouncer.answers(), "PgBouncer does not answer")  # noqa: B023
            # A port that was free may be taken by others by the time that it listens.
            if bouncer.has_ended():
                failure = bouncer.log()
                continue
            yield Pooled(bouncer.url(), server_url, bouncer)
            return
        finally:
            bouncer.destroy()
    raise AssertionError(f"PgBouncer has ended:\n{failure}")
