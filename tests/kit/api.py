"""A server on a loopback port of this process, and clients of each role."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx

from turnout.model.access import Role
from turnout.orchestration.settings import EngineSettings
from turnout.runner import Runner
from turnout.runner.core import Core
from turnout.runner.server_settings import ServerSettings
from turnout.runtime.log_buffer import LogSettings
from turnout.server.access import create_token
from turnout.server.bind import open_socket
from turnout.server.context import ServerContext
from turnout.server.service import ApiServer, served

QUIET = EngineSettings(logs=LogSettings(echo=False))
"""Bodies do not print while pytest replaces the standard streams: CPython 3.11 may crash."""


class RunningApi:
    """A server, and what tests ask of it."""

    def __init__(self, runner: Runner, context: ServerContext, server: ApiServer, stack: ExitStack) -> None:
        self.runner = runner
        self.context = context
        self.server = server
        self._stack = stack
        self._clients: dict[str, httpx.Client] = {}

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def core(self) -> Core:
        return self.runner.core

    def token(self, role: str, name: str | None = None, lifetime: float | None = None) -> str:
        """Returns the secret of a new token."""
        return create_token(self.core.store, name or role, Role(role), lifetime=lifetime).secret

    def client(self, role: str | None = None, **options: Any) -> httpx.Client:
        """Returns the client of a role; without one, a client without a token."""
        known = self._clients.get(role or "")
        if known is None or options:
            headers = {} if role is None else {"Authorization": f"Bearer {self.token(role)}"}
            known = self._stack.enter_context(httpx.Client(base_url=self.url, headers=headers, timeout=20, **options))
            self._clients[role or ""] = known
        return known


@contextmanager
def running_api(
    database: str = "sqlite:///:memory:",
    settings: ServerSettings | None = None,
    **options: Any,
) -> Iterator[RunningApi]:
    """Yields a running server; ``options`` are those of its Runner."""
    options.setdefault("workflows", ())
    options.setdefault("config", False)
    options.setdefault("settings", QUIET)
    chosen = settings or ServerSettings(port=0)
    with ExitStack() as stack:
        listener = stack.enter_context(open_socket(chosen))
        runner = stack.enter_context(Runner(database, **options))
        context = ServerContext(runner.core, chosen)
        server = stack.enter_context(served(context, listener))
        yield RunningApi(runner, context, server, stack)
