"""A store whose commits go over a channel: alone, or in one commit with writes of other runs."""

from __future__ import annotations

import contextlib
import select
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from tests.conformance.store_rows import SPEC, VERSION, WORKFLOW, completed, new_run, update
from turnout.contracts.store.ledger import CommitChannel
from turnout.model.rows import RunWrite, StoredRun, WriteOutcome
from turnout.store import connect

WAIT = 20.0
BESIDE = "public::embedded::beside"
"""The workflow of the other runs, which no test claims."""


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
        stored, more = new_run(workflow=BESIDE), new_run(workflow=BESIDE)
        assert self._store.commit([stored])[0].applied
        self._hidden |= {stored.run_id, more.run_id}
        return [more, update(stored.run_id, completed())]

    def runs(self, *given: Any, **named: Any) -> list[StoredRun]:
        return self._shown(self._store.runs(*given, **named))

    def open_runs(self, limit: int) -> list[StoredRun]:
        return self._shown(self._store.open_runs(limit + len(self._hidden)))[:limit]

    def waiting(self) -> Any:
        """What is open, without the other runs."""
        found = self._store.waiting()
        if self._hidden:
            owned = found["runs"]["running"]
            owned["owned"] -= len(self._hidden)
            if not any(owned.values()):
                del found["runs"]["running"]
        return found

    def _shown(self, runs: list[StoredRun]) -> list[StoredRun]:
        return [run for run in runs if run.new.run_id not in self._hidden]


def answer_of(channel: CommitChannel) -> list[WriteOutcome]:
    while True:
        unsent = [] if channel.flush() else [channel]
        readable, writable, _ = select.select([channel], unsent, [], WAIT)
        assert readable or writable, "no answer"
        if readable and (outcomes := channel.receive()) is not None:
            return outcomes


@pytest.fixture(params=["alone", "among others"])
def channel_store(postgres_url: str, request: pytest.FixtureRequest) -> Iterator[Any]:
    with contextlib.closing(connect(postgres_url)) as opened:
        opened.open()
        yield ChannelStore(opened, alone=request.param == "alone")
