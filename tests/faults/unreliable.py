"""A store whose answers get lost: the call fails before it reaches the database, or after it was carried out."""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import turnout.runner.core
from turnout import Runner
from turnout.contracts.store import Store
from turnout.contracts.store.ledger import CommitChannel
from turnout.errors import StoreUnreachable


class UnreliableChannel:
    """A channel for commits with the faults that were planned for ``commit``."""

    def __init__(self, channel: CommitChannel, store: UnreliableStore) -> None:
        self._channel = channel
        self._store = store
        self._lost = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._channel, name)

    def send(self, writes: Any, wake: frozenset[str]) -> None:
        fault = self._store.next_fault("commit")
        if fault == "before":
            raise StoreUnreachable("commit: the database was not reached")
        self._lost = fault == "after"
        self._channel.send(writes, wake)

    def receive(self) -> Any:
        outcomes = self._channel.receive()
        if outcomes is not None and self._lost:
            raise StoreUnreachable("commit: the answer was lost")
        return outcomes


class UnreliableStore:
    """Passes everything on to a real store, except where a fault was planned."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._faults: defaultdict[str, deque[str | None]] = defaultdict(deque)
        self._lock = threading.Lock()
        self.broken: set[str] = set()
        """Methods that fail until they are taken out again."""
        self.before: dict[str, Callable[[], None]] = {}
        """What to do just before the next call of a method."""
        self.injected = 0

    def plan(self, method: str, *faults: str | None) -> None:
        """What becomes of the next calls: ``"before"`` or ``"after"`` they were carried out, or None for nothing."""
        self._faults[method].extend(faults)

    def pending(self, method: str) -> int:
        return len(self._faults[method])

    def next_fault(self, method: str) -> str | None:
        """What becomes of a call of this method that is being made."""
        with self._lock:
            fault = self._faults[method].popleft() if self._faults[method] else None
            first = self.before.pop(method, None)
            self.injected += fault is not None
        if first is not None:
            first()
        return "before" if method in self.broken else fault

    def commit_channel(self) -> UnreliableChannel | None:
        channel = self._store.commit_channel()
        return None if channel is None else UnreliableChannel(channel, self)

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._store, name)
        if not callable(real):
            return real

        def call(*args: Any, **kwargs: Any) -> Any:
            fault = self.next_fault(name)
            if fault == "before":
                raise StoreUnreachable(f"{name}: the database was not reached")
            answer = real(*args, **kwargs)
            if fault == "after":
                raise StoreUnreachable(f"{name}: the answer was lost")
            return answer

        return call


@contextmanager
def unreliable(monkeypatch: pytest.MonkeyPatch, url: str, **options: Any) -> Iterator[tuple[Runner, UnreliableStore]]:
    """A Runner in this process on such a store."""
    connect = turnout.runner.core.connect
    stores: list[UnreliableStore] = []

    def connect_unreliably(url: str, **bounds: int) -> UnreliableStore:
        stores.append(UnreliableStore(connect(url, **bounds)))
        return stores[-1]

    with monkeypatch.context() as patch:
        patch.setattr(turnout.runner.core, "connect", connect_unreliably)
        runner = Runner(url, handle_sigterm=False, **options)
    with runner:
        yield runner, stores[0]
