"""Numbers of runs: one for each, for ever."""

from __future__ import annotations

import threading

from tests.conformance.store_rows import begin, insert, new_run
from turnout.contracts.store import Store
from turnout.model.names import new_run_id
from turnout.store import connect


def test_a_run_keeps_its_number_and_another_gets_another(store: Store, store_url: str) -> None:
    begin(store)
    runs = [new_run() for _ in range(3)]
    for run in runs:
        insert(store, run)
    ids = [run.run_id for run in runs]
    first = store.run_numbers(ids[:2])
    assert set(first) == set(ids[:2]) and len(set(first.values())) == 2 and min(first.values()) >= 1
    again = connect(store_url)
    again.open()
    both = again.run_numbers(ids)
    again.close()
    assert both | first == both and len(set(both.values())) == 3
    assert store.run_numbers(ids) == both


def test_a_run_that_does_not_exist_has_no_number(store: Store) -> None:
    begin(store)
    assert store.run_numbers([new_run_id()]) == {}
    assert store.run_numbers([]) == {}


def test_two_that_ask_at_once_get_the_same(store: Store) -> None:
    begin(store)
    runs = [new_run() for _ in range(20)]
    for run in runs:
        insert(store, run)
    ids = [run.run_id for run in runs]
    found: list[dict[str, int]] = []
    threads = [threading.Thread(target=lambda: found.append(store.run_numbers(ids))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and all(each == found[0] and len(each) == 20 for each in found)
