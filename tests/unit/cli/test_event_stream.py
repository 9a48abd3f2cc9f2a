"""Streams that are followed to their end, over servers that stop and connections that break."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from turnout.cli.api_client import Event, Query
from turnout.cli.event_stream import RECONNECT_TIMEOUT, followed
from turnout.errors import AccessDenied, ServerUnavailable

LOST = Event("lost", b"")
"""Stands for a connection that breaks."""


def line(number: int) -> Event:
    return Event("log", b"{}", str(number))


END = Event("end", b"{}", "9")


def closed(reason: str) -> Event:
    return Event("closed", b'{"reason": "%b"}' % reason.encode())


class Script:
    """Connections one after another, and a clock that only sleeping moves."""

    def __init__(self, *connections: list[Event]) -> None:
        self.connections = list(connections)
        self.opened: list[str | None] = []
        self.now = 0.0

    def events(self, path: str, query: Query | None = None, last: str | None = None) -> Iterator[Event]:
        self.opened.append(last)
        for event in self.connections.pop(0) if self.connections else [LOST]:
            if event is LOST:
                raise ServerUnavailable("gone")
            yield event

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def follow(self) -> list[str | None]:
        return [each.id for each in followed(self, "/x", sleep=self.sleep, clock=lambda: self.now)]


def test_a_stream_is_read_to_its_end() -> None:
    script = Script([line(1), line(2), END])
    assert script.follow() == ["1", "2"] and script.opened == [None] and script.now == 0


def test_a_stream_that_is_lost_is_opened_again_behind_the_last_event() -> None:
    script = Script([line(1), LOST], [LOST], [closed("stopping")], [line(2), closed("too_slow")], [], [line(3), END])
    assert script.follow() == ["1", "2", "3"]
    assert script.opened == [None, "1", "1", "1", "2", "2"]


def test_a_server_that_was_never_there_is_reported_at_once() -> None:
    script = Script([LOST])
    with pytest.raises(ServerUnavailable, match="gone"):
        script.follow()
    assert script.opened == [None]


@pytest.mark.parametrize("later", [[LOST], [closed("failed")], []])
def test_a_server_that_does_not_come_back_is_given_up(later: list[Event]) -> None:
    script = Script([line(1), LOST], *[later for _ in range(200)])
    with pytest.raises(ServerUnavailable):
        script.follow()
    assert RECONNECT_TIMEOUT <= script.now <= RECONNECT_TIMEOUT + 2


def test_a_revoked_token_ends_it() -> None:
    with pytest.raises(AccessDenied, match="revoked"):
        Script([line(1), closed("revoked")]).follow()
