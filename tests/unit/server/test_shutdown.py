"""How long a server that stops goes on answering."""

from __future__ import annotations

import pytest

from turnout.errors import RequestError
from turnout.runner.server_settings import ServerSettings
from turnout.server.shutdown import PROBE_INTERVAL, Shutdown

PUBLIC = ServerSettings(host="0.0.0.0", drain=3.0)
LOCAL = ServerSettings(drain=3.0)


def test_a_server_that_others_reach_always_drains() -> None:
    assert Shutdown(PUBLIC).drain_time(0) == 3.0


def test_a_local_server_that_nothing_uses_does_not_drain() -> None:
    assert Shutdown(LOCAL).drain_time(0) == 0.0
    assert Shutdown(LOCAL).drain_time(1) == 3.0


def test_a_local_server_whose_readiness_is_asked_for_drains() -> None:
    now = [100.0]
    shutdown = Shutdown(LOCAL, lambda: now[0])
    shutdown.note_probe()
    now[0] += PROBE_INTERVAL - 1
    assert shutdown.drain_time(0) == 3.0
    now[0] += 2
    assert shutdown.drain_time(0) == 0.0


def test_no_run_is_taken_once_the_server_stops() -> None:
    shutdown = Shutdown(LOCAL)
    shutdown.check_open()
    shutdown.begin()
    with pytest.raises(RequestError) as refused:
        shutdown.check_open()
    assert refused.value.code == "server_stopping"
