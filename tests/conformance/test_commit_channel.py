"""A channel commits as ``commit`` does: all tests of the ledger's writes once more, over a channel of PostgreSQL, alone
and in one commit with writes of other runs."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.conformance.channel_store import WAIT, ChannelStore, answer_of, channel_store  # noqa: F401 - a fixture
from tests.conformance.store_rows import OWNER, begin, completed, new_run, update
from tests.conformance.test_store_ledger import *  # noqa: F403 - its tests, with the fixture below
from turnout.errors import StoreRejected, StoreUnreachable
from turnout.model.states import TaskState
from turnout.store import connect

LARGE = 6 * 1024 * 1024
"""More characters than a socket takes at once."""


@pytest.fixture
def store(channel_store: ChannelStore) -> ChannelStore:  # noqa: F811
    return channel_store


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
