"""The lease keeper stores what the orchestrator says of itself, and never waits for it."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from tests.kit.waiting import until
from turnout.contracts.store import Store
from turnout.model.rows import Lease, Session
from turnout.orchestration.session import LeaseKeeper

WAIT = 20.0


class Renewals:
    """A store that knows renewals only."""

    def __init__(self) -> None:
        self.said: queue.Queue[str | None] = queue.Queue()
        self.during: Callable[[], None] = lambda: None
        """Called in each renewal, after it has counted the others."""

    def start_session(self, session: Session, lease: float) -> None: ...

    def renew_session(self, session_id: str, lease: float, health: str | None = None) -> Lease:
        self.during()
        self.said.put(health)
        return Lease(held=True, peers=0)


@pytest.fixture
def renewals() -> Renewals:
    return Renewals()


@pytest.fixture
def keep(renewals: Renewals) -> Iterator[Callable[..., LeaseKeeper]]:
    keepers: list[LeaseKeeper] = []

    def make(heartbeat: float, health: Callable[[], str | None] | None) -> LeaseKeeper:
        keepers.append(
            LeaseKeeper(
                cast("Store", cast("Any", renewals)),
                Session(id="s"),
                heartbeat=heartbeat,
                lease=3 * heartbeat,
                self_fence=2 * heartbeat,
                on_lost=lambda: None,
                health=health,
            )
        )
        keepers[-1].start()
        return keepers[-1]

    yield make
    for keeper in keepers:
        keeper.stop()


def test_each_renewal_stores_what_is_known_by_then(renewals: Renewals, keep: Callable[..., LeaseKeeper]) -> None:
    said = iter(["first", "second"])
    keep(0.002, lambda: next(said, "last"))
    assert [renewals.said.get(timeout=WAIT) for _ in range(3)] == ["first", "second", "last"]


def test_the_first_status_does_not_wait_for_a_long_heartbeat(
    renewals: Renewals, keep: Callable[..., LeaseKeeper]
) -> None:
    said = iter([None, "first"])
    keep(3600.0, lambda: next(said))
    assert [renewals.said.get(timeout=WAIT) for _ in range(2)] == [None, "first"]


def test_who_has_nothing_to_say_renews_as_well(renewals: Renewals, keep: Callable[..., LeaseKeeper]) -> None:
    keep(0.002, None)
    assert [renewals.said.get(timeout=WAIT) for _ in range(3)] == [None, None, None]


class Opening:
    """Looks at a keeper in its renewals, and lets sessions open in them."""

    def __init__(self, *opened_in: int) -> None:
        self.keeper: queue.Queue[LeaseKeeper] = queue.Queue()
        self.peers: list[int] = []
        """What the keeper knew during each renewal."""
        self._opened_in = opened_in

    def __call__(self) -> None:
        keeper = self.keeper.get(timeout=WAIT)
        self.keeper.put(keeper)
        self.peers.append(keeper.peers)
        if len(self.peers) in self._opened_in:
            keeper.peer_opened()


@pytest.mark.parametrize(("opened_in", "known"), [((), [1, 0, 0]), ((1,), [1, 1, 0]), ((2,), [1, 0, 1])])
def test_a_session_that_may_be_alive_counts_until_the_next_renewal_has_counted_it(
    renewals: Renewals, keep: Callable[..., LeaseKeeper], opened_in: tuple[int, ...], known: list[int]
) -> None:
    opening = renewals.during = Opening(*opened_in)
    opening.keeper.put(keep(0.002, None))
    until(lambda: len(opening.peers) >= len(known), "the lease is not renewed")
    assert opening.peers[: len(known)] == known
