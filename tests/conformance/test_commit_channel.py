"""A channel commits as ``commit`` does: all tests of the ledger's writes once more, over a channel of PostgreSQL, alone
and in one commit with writes of other runs."""

from __future__ import annotations

import contextlib
import select
from collections.abc import Iterator, Sequence
from typing import Any

import psycopg
import pytest

from tests.conformance.store_rows import OWNER, SPEC, VERSION, WORKFLOW, begin, completed, new_run, update
from tests.conformance.test_store_ledger import *  # noqa: F403 - its tests, with the fixture below
from turnout.contracts.store.ledger import CommitChannel
from turnout.errors import StoreRejected, StoreUnreachable
from turnout.model.rows import RunWrite, StoredRun, WriteOutcome
from turnout.model.states import TaskState
from turnout.store import connect

WAIT = 20.0
LARGE = 6 * 1024 * 1024
"""More characters than a socket takes at once."""


class ChannelStore:
    """A store whose commits go over a channel; after one that failed, over a new one."""

    def __init__(self, store: Any, *, alone: bool = True) -> None:
        self._store = store
        self._alone = alone
        self._hidden: set[str] = set()
        self.channel: CommitChannel | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def commit(self, writes: Sequence[RunWrite], *, wake: frozenset[str] = frozenset()) -> list[WriteOutcome]:
        channel = self.channel = self.channel or self._store.commit_channel()
        assert channel is not None
        channel.send([*writes, *([] if self._alone else self._others())], wake)
        try:
            return answer_of(channel)[: len(writes)]
        except BaseException:
            channel.close()
            self.channel = None
            raise

    def _others(self) -> list[RunWrite]:
        """Writes of other runs: an insert, and a step of a run that is stored."""
        self._store.put_workflow(VERSION, WORKFLOW, SPEC)
        stored, more = new_run(), new_run()
        assert self._store.commit([stored])[0].applied
        self._hidden |= {stored.run_id, more.run_id}
        return [more, update(stored.run_id, completed())]

    def runs(self, *given: Any, **named: Any) -> list[StoredRun]:
        return [run for run in self._store.runs(*given, **named) if run.new.run_id not in self._hidden]


def answer_of(channel: CommitChannel) -> list[WriteOutcome]:
    while True:
        unsent = [] if channel.flush() else [channel]
        readable, writable, _ = select.select([channel], unsent, [], WAIT)
        assert readable or writable, "no answer"
        if readable and (outcomes := channel.receive()) is not None:
            return outcomes


@pytest.fixture(params=["alone", "among others"])
def store(postgres_url: str, request: pytest.FixtureRequest) -> Iterator[Any]:
    with contextlib.closing(connect(postgres_url)) as opened:
        opened.open()
        yield ChannelStore(opened, alone=request.param == "alone")


def backend_of(store: ChannelStore) -> int:
    channel: Any = store.channel
    return int(channel._connection.info.backend_pid)


def test_a_commit_that_the_socket_does_not_take_at_once_is_sent_in_parts(store: ChannelStore) -> None:
    begin(store)  # type: ignore[arg-type]
    runs = [new_run() for _ in range(4)]
    assert all(outcome.applied for outcome in store.commit(runs))
    writes = [update(run.run_id, completed(output=f'"{"x" * LARGE}"')) for run in runs]
    assert all(outcome.applied for outcome in store.commit(writes))
    assert [len(store.outputs(run.run_id, [0])[0]) for run in runs] == [LARGE + 2] * 4


def test_what_cannot_be_encoded_is_refused_before_anything_is_sent(store: ChannelStore) -> None:
    begin(store)  # type: ignore[arg-type]
    run = new_run()
    store.commit([run])
    before = store.channel
    assert before is not None
    with pytest.raises(StoreRejected):
        before.send([update(run.run_id, completed(output='"\ud800"'))], frozenset())
    with pytest.raises(StoreRejected, match="NUL"):
        before.send([update(run.run_id, completed(output='"a\0b"'))], frozenset())
    outcomes = store.commit([update(run.run_id, completed())])
    assert store.channel is before and outcomes[0].applied


def test_a_commit_that_the_server_refuses_leaves_nothing_behind(store: ChannelStore) -> None:
    begin(store)  # type: ignore[arg-type]
    good, bad = new_run(), new_run()
    assert all(outcome.applied for outcome in store.commit([good, bad]))
    illegal = completed(attempt=0, was_attempt=1)
    with pytest.raises(StoreRejected):
        store.commit([update(good.run_id, completed()), update(bad.run_id, illegal), new_run()])
    assert store.tasks(good.run_id)[0].state is TaskState.RUNNING


def test_a_connection_that_is_lost_while_idle_shows_without_a_commit(store: ChannelStore, postgres_url: str) -> None:
    begin(store)  # type: ignore[arg-type]
    store.commit([new_run()])
    assert store.channel is not None
    with psycopg.connect(postgres_url) as other:
        other.execute("select pg_terminate_backend(%s)", [backend_of(store)])
    with pytest.raises(StoreUnreachable):
        answer_of(store.channel)


def test_a_connection_that_is_lost_during_a_commit_leaves_its_outcome_open(
    store: ChannelStore, postgres_url: str
) -> None:
    begin(store)  # type: ignore[arg-type]
    run = new_run()
    store.commit([run])
    with psycopg.connect(postgres_url) as other:
        # The commit waits for this row until its connection is ended.
        other.execute("select 1 from task where run_id = %s for update", [run.run_id])
        assert store.channel is not None
        store.channel.send([update(run.run_id, completed())], frozenset())
        store.channel.flush()
        with psycopg.connect(postgres_url, autocommit=True) as third:
            third.execute("select pg_terminate_backend(%s)", [backend_of(store)])
        with pytest.raises(StoreUnreachable):
            answer_of(store.channel)
    assert store.tasks(run.run_id)[0].state is TaskState.RUNNING


def test_topics_are_notified_with_the_commit(store: ChannelStore, postgres_url: str) -> None:
    begin(store)  # type: ignore[arg-type]
    with psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute("listen turnout")
        store.commit([new_run()], wake=frozenset({"runs"}))
        assert [each.payload for each in other.notifies(timeout=WAIT, stop_after=1)] == ["runs"]


def test_an_ended_store_has_closed_its_channels(postgres_url: str) -> None:
    opened = connect(postgres_url)
    opened.open()
    store = ChannelStore(opened)
    begin(store)  # type: ignore[arg-type]
    store.commit([new_run(owner=OWNER)])
    channel: Any = store.channel
    opened.close()
    assert channel._connection.closed
