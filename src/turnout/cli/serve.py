"""The API of an orchestrator on the command line: its socket, its first token, and what is printed about them."""

from __future__ import annotations

import importlib
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from turnout.cli.output import is_terminal, print_line
from turnout.model.durations import seconds
from turnout.model.extras import optional_packages
from turnout.runner.config import Config
from turnout.runner.core import Core
from turnout.runner.server_settings import SERVER, ServerSettings
from turnout.server.bind import check_bind, check_certificate, open_socket
from turnout.server.first_token import make_first_token, token_file

if TYPE_CHECKING:
    from turnout.server.context import ServerContext
    from turnout.server.service import ApiServer

PACKAGES = ("litestar", "uvicorn")
"""What the API is made with, beside what every orchestrator needs."""
APPLICATION = "turnout.server.service"


class ApiProcess:
    """The API of one process, from its socket on."""

    def __init__(
        self, settings: ServerSettings, listener: socket.socket, root: Path, *, link: Callable[[str], object] | None
    ) -> None:
        self._settings = settings
        self._link = link
        """Called with the link that signs a browser in once; None: no link is made."""
        self._listener = listener
        self._root = root

    @classmethod
    @contextmanager
    def of(
        cls, config: Config, options: Mapping[str, Any], *, link: Callable[[str], object] | None
    ) -> Iterator[ApiProcess]:
        """Yields the API with the configured settings and these options. Its socket is open; nothing is served yet."""
        given = {name: value for name, value in options.items() if value is not None}
        settings = msgspec.structs.replace(config.server, **given)
        settings.check(SERVER)
        check_bind(settings, tokens=True)
        check_certificate(settings)
        _check_packages()
        listener = open_socket(settings)
        # The database is opened meanwhile, which mostly waits.
        threading.Thread(target=_import_application, name="turnout-import", daemon=True).start()
        try:
            yield cls(settings, listener, config.root, link=link)
        finally:
            listener.close()

    @contextmanager
    def served(self, core: Core) -> Iterator[ApiServer]:
        """Serves the API of this orchestrator while the block runs."""
        from turnout.server.context import ServerContext
        from turnout.server.service import served

        context = ServerContext(core, self._settings)
        with ExitStack() as stack:
            stack.callback(context.close)
            code = stack.enter_context(self._sign_in_code(context)) if self._link else None
            if code is None and not self._settings.insecure_local:
                self._first_token(core)
            check_bind(self._settings, tokens=core.store.has_usable_token())
            server = stack.enter_context(served(context, self._listener))
            if self._link is not None:
                self._link(f"{server.url}/sign-in#code={code}")
            yield server

    @contextmanager
    def _sign_in_code(self, context: ServerContext) -> Iterator[str]:
        """Yields the code of a link that signs in as an admin; its token ends with the process."""
        from turnout.server.dev_token import dev_token

        lifetime = seconds(self._settings.session_lifetime)
        with dev_token(context.store, context.core.engine.session.id, lifetime) as token:
            yield context.access.new_code(token)

    def _first_token(self, core: Core) -> None:
        shown = is_terminal(sys.stderr)
        file = None if shown else token_file(self._settings, core.url, self._root)
        secret = make_first_token(core.store, file)
        if secret is None:
            return
        if file is None:
            print_line("the first admin token, shown this once:", to=sys.stderr)
            print_line(f"  {secret}", to=sys.stderr)
        else:
            print_line(f"the first admin token is in {file}", to=sys.stderr)


def print_link(link: str) -> None:
    """Prints the link of ``turnout dev``."""
    print_line(f"sign in, once: {link}", to=sys.stderr)


def _check_packages() -> None:
    """Raises MissingExtra, before the database is touched, if the packages of the API are not installed."""
    with optional_packages():
        for package in PACKAGES:
            if find_spec(package) is None:
                raise ModuleNotFoundError(name=package)


def _import_application() -> None:
    # What goes wrong goes wrong again where the application is used, and is reported there.
    with suppress(Exception):
        importlib.import_module(APPLICATION)
