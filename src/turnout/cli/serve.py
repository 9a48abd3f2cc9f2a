"""The API of an orchestrator on the command line: its socket, its first token, and what is printed about them."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from turnout.cli.output import is_terminal, print_line
from turnout.model.durations import seconds
from turnout.model.extras import optional_packages
from turnout.runner.config import Config
from turnout.runner.core import Core
from turnout.runner.server_settings import SERVER, ServerSettings

with optional_packages():
    from turnout.server.bind import check_bind, open_socket
    from turnout.server.context import ServerContext
    from turnout.server.dev_token import dev_token
    from turnout.server.first_token import make_first_token, token_file
    from turnout.server.service import ApiServer, served


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
        listener = open_socket(settings)
        try:
            yield cls(settings, listener, config.root, link=link)
        finally:
            listener.close()

    @contextmanager
    def served(self, core: Core) -> Iterator[ApiServer]:
        """Serves the API of this orchestrator while the block runs."""
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
