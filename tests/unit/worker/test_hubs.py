"""How a worker divides itself among its hubs."""

from __future__ import annotations

import zmq
from unit.wire.network import hello

from turnout.wire.holdings import Holdings
from turnout.worker.hubs import Hubs
from turnout.worker.settings import WorkerSettings


def test_a_hub_that_is_greeted_is_offered_its_share_and_not_the_whole() -> None:
    addresses = ("tcp://127.0.0.1:1", "tcp://127.0.0.1:2")
    hubs = Hubs(hello("w", credits=6), Holdings(), WorkerSettings(connect=addresses), zmq.Poller(), None)
    assert [each.credits for each in hubs.figures(0.0)] == [3, 3]
    hubs.share(1)
    assert [each.credits for each in hubs.figures(0.0)] == [1, 1], "nobody is left without any"
    hubs.share(0)
    assert [each.credits for each in hubs.figures(0.0)] == [0, 0]
    hubs.leave()
