"""Notifications of PostgreSQL stay few: those of commits under load, and what a storm of them costs an orchestrator."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import psycopg
import pytest

from tests.conformance.store_rows import begin, completed, new_run, update
from tests.kit.waiting import PATIENCE
from turnout import Runner, task, workflow
from turnout.runner import EngineSettings
from turnout.store import connect
from turnout.store.postgres import PostgresStore
from turnout.store.postgres.listener import CHANNEL, DELIVERY_INTERVAL

pytestmark = pytest.mark.timeout(2 * PATIENCE)

RUNS, SUBMITTERS = 200, 8
STORM = 3_000


@task
def answer() -> int:
    return 42


@workflow
def answered() -> int:
    return answer()


class Watch:
    """Counts all that is notified in a database, as any process that listens could."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection = psycopg.connect(url, autocommit=True)
        self._connection.execute(f"listen {CHANNEL}")
        self._mark = 0

    def topics(self) -> Counter[str]:
        """Returns what has arrived since the last call, complete up to now."""
        self._mark += 1
        mark = f"mark {self._mark}"
        with psycopg.connect(self._url, autocommit=True) as other:
            other.execute("select pg_notify(%s, %s)", (CHANNEL, mark))
        found: Counter[str] = Counter()
        for note in self._connection.notifies(timeout=PATIENCE):
            if note.payload == mark:
                return found
            found[note.payload] += 1
        raise AssertionError("the mark did not arrive")

    def close(self) -> None:
        self._connection.close()


@pytest.fixture
def watch(postgres_url: str) -> Iterator[Watch]:
    with closing(Watch(postgres_url)) as found:
        yield found


def test_a_commit_notifies_each_topic_once_whatever_it_writes(postgres_url: str, watch: Watch) -> None:
    with closing(connect(postgres_url)) as store:
        store.open()
        begin(store)
        old = [new_run() for _ in range(20)]
        store.commit(old)
        watch.topics()
        # Inserts and updates are two statements of one transaction.
        writes = [*(new_run() for _ in range(20)), *(update(run.run_id, completed()) for run in old)]
        assert all(outcome.applied for outcome in store.commit(writes, wake=frozenset({"runs", "finished"})))
        assert watch.topics() == {"runs": 1, "finished": 1}
        store.commit([new_run()])
        assert watch.topics() == {}


def test_submissions_and_ends_under_load_notify_once_per_commit_at_most(postgres_url: str, watch: Watch) -> None:
    options: dict[str, Any] = {"workflows": [answered], "handle_sigterm": False}
    with Runner(postgres_url, **options) as driver, Runner(postgres_url, drives=False, **options) as client:
        watch.topics()
        before = [each.core.engine.ledger.metrics.commits for each in (driver, client)]
        with ThreadPoolExecutor(SUBMITTERS) as threads:
            runs = list(threads.map(lambda _: client.submit(answered), range(RUNS)))
        assert {run.result(timeout=PATIENCE) for run in runs} == {42}
        found = watch.topics()
        ends, submissions = (
            each.core.engine.ledger.metrics.commits - earlier
            for each, earlier in zip((driver, client), before, strict=True)
        )
    assert 1 <= found["runs"] <= submissions <= RUNS
    assert 1 <= found["finished"] <= ends


def test_a_storm_of_notifications_makes_an_idle_orchestrator_look_a_bounded_number_of_times(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims: Counter[str] = Counter()
    claim_runs = PostgresStore.claim_runs

    def counted(store: PostgresStore, *args: Any) -> Any:
        claims["made"] += 1
        return claim_runs(store, *args)

    monkeypatch.setattr(PostgresStore, "claim_runs", counted)
    settings = EngineSettings(sweep=3600.0, stop_grace=1.0)
    options: dict[str, Any] = {"workflows": [answered], "settings": settings, "handle_sigterm": False}
    with (
        Runner(postgres_url, **options),
        Runner(postgres_url, drives=False, **options) as client,
        psycopg.connect(postgres_url, autocommit=True) as sender,
    ):
        claims.clear()
        began = time.monotonic()
        for _ in range(STORM):
            sender.execute("select pg_notify(%s, 'runs')", (CHANNEL,))
        # What is submitted at its end is not overlooked, although nothing polls.
        assert client.submit(answered).result(timeout=PATIENCE) == 42
        took = time.monotonic() - began
        assert 1 <= claims["made"] <= 10 + took / DELIVERY_INTERVAL
        print(f"{STORM} notifications in {took:.2f} s made {claims['made']} claims")
