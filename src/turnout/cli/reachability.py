"""Checks for ``turnout doctor`` whether hub, collector and executors can be reached."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from turnout.cli.checks import Check, Grade
from turnout.errors import TurnoutError

if TYPE_CHECKING:
    from turnout.runner.config import Config

CONNECT_TIMEOUT = 3.0
CHECK_TIMEOUT = 15.0
"""Seconds that the check of one executor may take."""
PORTS = {"http": 80, "https": 443}
ANYWHERE = ("*", "0.0.0.0", "::")
"""Hosts on which a hub listens on all addresses."""


def hub_checks(config: Config) -> Iterator[Check]:
    """Yields whether something listens at the address of the configured hub."""
    try:
        hub = config.hub
    except TurnoutError as error:
        yield Check("hub", Grade.BAD, error.message)
        return
    if hub is None:
        return
    address = hub.advertise or hub.address
    why = unreachable(address)
    if why is None:
        yield Check("hub", Grade.GOOD, f"{address}: answers")
    else:
        yield Check("hub", Grade.FAIR, f"{address}: {why}; it opens with an orchestrator (`turnout server`)")


def telemetry_checks(config: Config) -> Iterator[Check]:
    """Yields whether telemetry could be sent, if it is enabled."""
    try:
        settings = config.telemetry
    except TurnoutError as error:
        yield Check("telemetry", Grade.BAD, error.message)
        return
    if settings is None:
        return
    from turnout.cli.installed_extras import installed_extras

    for extra in installed_extras():
        if extra.name == "otel" and not extra.installed:
            yield Check("telemetry", Grade.BAD, f"telemetry is enabled, and its extra is {extra.text}")
            return
    endpoint = settings.endpoint or os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") or "http://localhost:4318"
    why = unreachable(endpoint)
    said = "answers" if why is None else f"{why}; traces and metrics are dropped"
    yield Check("telemetry", Grade.GOOD if why is None else Grade.FAIR, f"{endpoint}: {said}")


def unreachable(address: str) -> str | None:
    """Returns why no connection to this address can be made; None if one was made."""
    parts = urlsplit(address)
    if parts.scheme == "ipc":
        path = f"{parts.netloc}{parts.path}"
        return None if os.path.exists(path) else "there is no such socket"
    host = "127.0.0.1" if parts.hostname in (None, *ANYWHERE) else parts.hostname
    port = parts.port if parts.netloc.rpartition(":")[2] != "*" else 0
    port = PORTS.get(parts.scheme, 0) if port is None else port
    if not port:
        return "any free port is used, which is known once it listens"
    try:
        socket.create_connection((host, port), CONNECT_TIMEOUT).close()
    except OSError as error:
        return error.strerror or str(error) or type(error).__name__
    return None


def executor_checks(config: Config) -> Iterator[Check]:
    """Yields what the configured executors say that can tell whether they reach what they need: those with a ``check``,
    a coroutine that returns why not, or None."""
    from turnout.runner.settings import configured_executors

    try:
        found = configured_executors(config)
    except TurnoutError:
        return  # said by the check of executors
    for key, executor in found.items():
        check: Callable[[], Any] | None = getattr(executor, "check", None)
        if callable(check):
            yield _executor_check(key, check)


def _executor_check(key: str, check: Callable[[], Any]) -> Check:
    async def ask() -> Any:
        async with asyncio.timeout(CHECK_TIMEOUT):
            return await check()

    try:
        why = asyncio.run(ask())
    except TimeoutError:
        why = f"no answer within {CHECK_TIMEOUT:g} s"
    except TurnoutError as error:
        why = error.message
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
    return Check(f"executor {key}", Grade.GOOD if why is None else Grade.BAD, "reachable" if why is None else str(why))
