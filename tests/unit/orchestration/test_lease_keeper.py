"""The lease keeper stores what the orchestrator says of itself, and never waits for it."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from turnout.contracts.store import Store
from turnout.model.rows import Lease, Session
from turnout.orchestration.session import LeaseKeeper

WAIT = 20.0


class Renewals:
    """A store that knows renewals only."""

    def __init__(self) -> None:
        self.said: queue.Queue[str | None] = queue.Queue()

    def start_session(self, session: Session, lease: float) -> None: ...

    def renew_session(self, session_id: str, lease: float, health: str | None = None) -> Lease:
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
