"""Sends requests to the API of a server, and reads its answers and event streams."""

from __future__ import annotations

import contextlib
import http.client
import ssl
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from turnout.cli.problem_errors import error_of
from turnout.errors import InvalidTarget, ServerUnavailable
from turnout.model.run_triggers import CLI_AGENT
from turnout.runner.server_access import ServerAccess

T = TypeVar("T")

API = "/api/v1"
TIMEOUT = 60.0
"""Seconds that a request may take; the server bounds its own at 30."""
STREAM_TIMEOUT = 60.0
"""Seconds without a byte after which a stream counts as broken; the server sends a heartbeat every 15."""
MAX_ANSWER_BYTES = 256 * 1024 * 1024
Query = Mapping[str, str | int | float | bool | Sequence[str] | None]


class Event(msgspec.Struct, frozen=True):
    """One server-sent event."""

    name: str
    data: bytes
    id: str | None = None


class ApiClient:
    """Requests to one server; each has a connection of its own."""

    def __init__(self, access: ServerAccess) -> None:
        self._parts = urlsplit(access.url)
        self._token = access.token
        self.url = access.url

    def get(self, path: str, kind: type[T], query: Query | None = None) -> T:
        return self._answer("GET", path, kind, query=query)

    def post(
        self,
        path: str,
        kind: type[T],
        body: Any = None,
        *,
        query: Query | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = TIMEOUT,
    ) -> T:
        return self._answer("POST", path, kind, body=body, query=query, headers=headers, timeout=timeout)

    def delete(self, path: str, kind: type[T], query: Query | None = None) -> T:
        return self._answer("DELETE", path, kind, query=query)

    def events(self, path: str, query: Query | None = None, last: str | None = None) -> Iterator[Event]:
        """Yields the events of a stream until the server ends it. Raises ServerUnavailable if it breaks off."""
        headers = {"Accept": "text/event-stream", **({"Last-Event-ID": last} if last is not None else {})}
        with self._sent("GET", path, None, query, headers, STREAM_TIMEOUT) as response:
            _check(response)
            try:
                yield from _events(response)
            except (OSError, http.client.HTTPException) as error:
                raise self._unreachable(error) from error

    def _answer(
        self,
        method: str,
        path: str,
        kind: type[T],
        *,
        body: Any = None,
        query: Query | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = TIMEOUT,
    ) -> T:
        with self._sent(method, path, body, query, headers or {}, timeout) as response:
            _check(response)
            content = response.read(MAX_ANSWER_BYTES)
        try:
            return msgspec.json.decode(content, type=kind)
        except msgspec.DecodeError as error:
            raise ServerUnavailable(f"the answer of {self.url} is none of a Turnout server: {error}") from error

    @contextlib.contextmanager
    def _sent(
        self, method: str, path: str, body: Any, query: Query | None, headers: Mapping[str, str], timeout: float
    ) -> Iterator[http.client.HTTPResponse]:
        connection = self._connection(timeout)
        try:
            content = None if body is None else msgspec.json.encode(body)
            connection.request(method, self._target(path, query), content, {**self._headers(content), **headers})
            yield connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(error) from error
        finally:
            connection.close()

    def _connection(self, timeout: float) -> http.client.HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        if self._parts.scheme == "https":
            return http.client.HTTPSConnection(host, port, timeout=timeout, context=ssl.create_default_context())
        return http.client.HTTPConnection(host, port, timeout=timeout)

    def _target(self, path: str, query: Query | None) -> str:
        given = {name: _text(value) for name, value in (query or {}).items() if value is not None}
        return f"{self._parts.path}{API}{path}" + (f"?{urlencode(given, doseq=True)}" if given else "")

    def _headers(self, content: bytes | None) -> dict[str, str]:
        headers = {"Accept": "application/json", "User-Agent": CLI_AGENT}
        if content is not None:
            headers["Content-Type"] = "application/json"
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        return headers

    def _unreachable(self, error: Exception) -> ServerUnavailable:
        return ServerUnavailable(f"the server at {self.url} cannot be reached: {error}", url=self.url)


def workflow_segment(target: str) -> str:
    """Returns the name of a server's workflow as a segment of a path. Raises InvalidTarget for a file or module."""
    return segment(workflow_of(target))


def workflow_of(target: str) -> str:
    """Returns the name of a server's workflow. Raises InvalidTarget for a file or a module, which only a program has.

    >>> workflow_of("shop::fulfil")
    'shop::fulfil'
    """
    if ":" in target.replace("::", "") or "/" in target or target.endswith((".py", ".yaml", ".yml")):
        raise InvalidTarget(
            f"{target!r} is a file or a module: a server runs its own workflows, which are given by name",
            code="not_on_a_server",
            target=target,
        )
    return target


def segment(text: str) -> str:
    """Returns the text as one segment of a path."""
    return quote(text, safe="")


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return [str(each) for each in value] if isinstance(value, list | tuple) else str(value)


def _check(response: http.client.HTTPResponse) -> None:
    """Raises the error of an answer that is not a success."""
    if response.status < 400:
        return
    try:
        document = msgspec.json.decode(response.read(MAX_ANSWER_BYTES), type=dict[str, Any])
    except msgspec.DecodeError:
        document = {}
    raise error_of(response.status, document)


def _events(response: http.client.HTTPResponse) -> Iterator[Event]:
    """Yields the events of the body; comments are left out."""
    name, position, data = "message", None, b""
    for raw in iter(response.readline, b""):
        line = raw.rstrip(b"\r\n")
        if not line:
            if data:
                yield Event(name, data, position)
            name, data = "message", b""
            continue
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"event":
            name = value.decode()
        elif field == b"id":
            position = value.decode()
        elif field == b"data":
            data = value if not data else data + b"\n" + value
