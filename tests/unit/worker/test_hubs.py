"""How a worker divides itself among its hubs."""

from __future__ import annotations

import zmq
from unit.wire.network import hello

from turnout.wire.frames import pack, unpack
from turnout.wire.held_steps import HeldSteps
from turnout.wire.messages import Hello, Welcome
from turnout.wire.worker_session import WorkerSession
from turnout.worker.connection import INITIAL_BACKOFF
from turnout.worker.hubs import Hubs
from turnout.worker.settings import WorkerSettings


def test_a_hub_that_is_greeted_is_offered_its_share_and_not_the_whole() -> None:
    addresses = ("tcp://127.0.0.1:1", "tcp://127.0.0.1:2")
    hubs = Hubs(hello("w", credits=6), HeldSteps(), WorkerSettings(connect=addresses), zmq.Poller(), None)
    assert [each.credits for each in hubs.figures(0.0)] == [3, 3]
    hubs.share(1)
    assert [each.credits for each in hubs.figures(0.0)] == [1, 1], "nobody is left without any"
    hubs.share(0)
    assert [each.credits for each in hubs.figures(0.0)] == [0, 0]
    hubs.leave()


NAME, NUMBER = "tcp://localhost:1", "tcp://127.0.0.1:1"


def let_in(session: WorkerSession, now: float) -> None:
    """The hub, which calls itself by its number, answers the hello that was said last."""
    said = unpack(session.outbox[-1]).message
    assert isinstance(said, Hello)
    times = {"heartbeat_ms": 5000, "lease_ms": 15_000, "resend_ms": 2000, "max_message_bytes": 1 << 20}
    answer = Welcome(
        protocol_version="1.0", session="s", seq=said.seq, hub_id="hub", codec="json", hubs=(NUMBER,), **times
    )
    session.receive(pack(answer, "s"), now)


def test_a_hub_with_two_addresses_that_goes_away_is_looked_for_at_both() -> None:
    hubs = Hubs(hello("w"), HeldSteps(), WorkerSettings(connect=(NAME,)), zmq.Poller(), None)
    addresses = lambda: [each.address for each in hubs.figures(0.0)]  # noqa: E731
    hubs.tick(0.0)
    (by_name,) = hubs.connections
    let_in(by_name.session, 0.1)
    hubs.tick(0.2)
    hubs.tick(0.4)
    by_number = hubs.connections[1]
    let_in(by_number.session, 0.5)
    hubs.tick(0.6)
    assert addresses() == [NUMBER], "one of them is enough"
    hubs.lost(by_number, 1.0, "it is gone")
    assert sorted(addresses()) == sorted([NAME, NUMBER]), "the name may lead to another machine by now"
    hubs.tick(2.0)
    hubs.tick(20.0)
    assert addresses() == [NAME], "nobody insists on the number"
    assert hubs.refusal is None
    hubs.leave()


def test_of_two_addresses_of_one_hub_that_were_tried_in_the_same_moment_one_stays() -> None:
    hubs = Hubs(hello("w"), HeldSteps(), WorkerSettings(connect=(NAME, NUMBER)), zmq.Poller(), None)
    hubs.tick(0.0)
    first, second = hubs.connections
    let_in(first.session, 0.1)
    let_in(second.session, 0.1)
    hubs.receive({}, 0.1)
    assert [each.address for each in hubs.connections] == [second.address], "its hello was the later one"
    hubs.leave()


def test_a_hub_that_lets_a_worker_in_and_leaves_in_the_same_moment_is_looked_for_soon() -> None:
    hubs = Hubs(hello("w"), HeldSteps(), WorkerSettings(connect=(NUMBER,)), zmq.Poller(), None)
    (connection,) = hubs.connections
    for now in (0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0):
        hubs.tick(now)
        hubs.lost(connection, now, "nobody there")
    hubs.tick(70.0)
    let_in(connection.session, 70.0)
    hubs.receive({}, 70.0)
    hubs.lost(connection, 70.0, "it said bye")
    hubs.tick(70.0 + INITIAL_BACKOFF)
    assert connection.socket is not None, "the pause is the shortest again"
    hubs.leave()
