"""A client of server-sent events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx


@dataclass
class Event:
    name: str
    data: Any
    id: str | None
    retry: int | None = None


class EventStream:
    """The events of one open stream, in order."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self._lines = response.iter_lines()

    def __iter__(self) -> Iterator[Event]:
        fields: dict[str, str] = {}
        for line in self._lines:
            if not line:
                if "event" in fields:
                    retry = fields.get("retry")
                    yield Event(
                        fields["event"],
                        json.loads(fields["data"]),
                        fields.get("id"),
                        None if retry is None else int(retry),
                    )
                fields = {}
            elif not line.startswith(":"):
                name, _, value = line.partition(": ")
                fields[name] = value

    def next(self, name: str) -> Event:
        """Returns the next event of this name; the others are passed over."""
        return next(event for event in self if event.name == name)


@contextmanager
def events(client: httpx.Client, path: str, last: str | None = None, **params: Any) -> Iterator[EventStream]:
    """Yields an open stream."""
    headers = {"Accept": "text/event-stream"} | ({} if last is None else {"Last-Event-ID": last})
    with client.stream("GET", path, params=params, headers=headers) as response:
        if response.status_code != 200:
            response.read()
        yield EventStream(response)
