"""Event triggers in the store: of all sessions one polls at a time, and what a poll keeps is compared and swapped."""

from __future__ import annotations

import threading

from tests.conformance.store_rows import begin
from tests.conformance.test_store_retention import query
from turnout.contracts.store import Store
from turnout.model.triggers import ClaimedPoll
from turnout.store import connect

NAME = "public::embedded::fulfil::new_orders"


def put(store: Store, every: float = 30.0) -> None:
    store.put_trigger(NAME, "public::embedded::fulfil", every)


def test_a_new_trigger_is_due_and_keeps_its_state_when_it_is_stored_again(store: Store) -> None:
    begin(store, "s1")
    put(store)
    assert store.trigger_delays([NAME, "missing"])[NAME] <= 0
    claimed = store.claim_poll(NAME, "s1", 60.0)
    assert claimed is not None and claimed.state is None and claimed.failures == 0
    assert store.finish_poll(NAME, claimed.revision, 30.0, {"after": 7}, 2)
    put(store, 60.0)
    [row] = store.triggers()
    assert (row.every, row.state, row.polls, row.runs, row.polling) == (60.0, {"after": 7}, 1, 2, False)
    assert 20 < store.trigger_delays([NAME])[NAME] <= 30 and store.claim_poll(NAME, "s1", 60.0) is None


def test_of_several_sessions_one_polls(store: Store, store_url: str) -> None:
    put(store)
    claimed: list[ClaimedPoll | None] = []

    def claim(number: int) -> None:
        other = connect(store_url)
        other.open()
        begin(other, f"s{number}")
        claimed.append(other.claim_poll(NAME, f"s{number}", 60.0))
        other.close()

    threads = [threading.Thread(target=claim, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sum(each is not None for each in claimed) == 1
    assert store.trigger_delays([NAME])[NAME] > 30 and store.triggers()[0].polling


def test_a_poll_whose_lease_is_over_or_whose_session_has_ended_is_claimed_again(store: Store, store_url: str) -> None:
    begin(store, "s1", "s2")
    put(store)
    first = store.claim_poll(NAME, "s1", 60.0)
    assert first is not None and store.claim_poll(NAME, "s2", 60.0) is None
    store.end_session("s1")
    assert store.trigger_delays([NAME])[NAME] <= 0
    second = store.claim_poll(NAME, "s2", 60.0)
    assert second is not None and second.revision > first.revision
    assert not store.finish_poll(NAME, first.revision, 30.0, "late", 1), "a poll that lost its claim stores nothing"
    assert not store.fail_poll(NAME, first.revision, 30.0, "late", 1)
    query(store_url, "update event_trigger set poll_until = 1")
    assert store.claim_poll(NAME, "s2", 60.0) is not None and store.triggers()[0].state is None


def test_a_failed_poll_keeps_the_state_and_says_why(store: Store) -> None:
    begin(store, "s1")
    put(store)
    for expected in (0, 1):
        claimed = store.claim_poll(NAME, "s1", 60.0)
        assert claimed is not None and claimed.failures == expected
        assert store.fail_poll(NAME, claimed.revision, 0.0, "OSError: no route", 0)
    [row] = store.triggers()
    assert (row.failures, row.error, row.polls) == (2, "OSError: no route", 2)
    assert store.poll_trigger(NAME) and store.triggers()[0].failures == 0
    claimed = store.claim_poll(NAME, "s1", 60.0)
    assert claimed is not None and store.finish_poll(NAME, claimed.revision, 30.0, None, 0)
    assert store.triggers()[0].error is None


def test_a_paused_trigger_is_not_due(store: Store) -> None:
    begin(store, "s1")
    put(store)
    assert store.pause_trigger(NAME, "ops") and not store.pause_trigger("missing", "ops")
    assert store.trigger_delays([NAME]) == {} and store.claim_poll(NAME, "s1", 60.0) is None
    assert not store.poll_trigger(NAME) and store.triggers()[0].paused_by == "ops"
    assert store.resume_trigger(NAME) and store.claim_poll(NAME, "s1", 60.0) is not None


def test_a_session_that_stops_gives_its_polls_up(store: Store) -> None:
    begin(store, "s1")
    put(store)
    assert store.claim_poll(NAME, "s1", 60.0) is not None
    store.release_polls("s1")
    assert store.claim_poll(NAME, "s1", 60.0) is not None
