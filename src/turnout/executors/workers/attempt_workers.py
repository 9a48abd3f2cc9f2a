"""Holds the workers that are made for one attempt each: their ids, and the keys that admit them and nothing else."""

from __future__ import annotations

import msgspec

from turnout.wire.keys import shortened
from turnout.wire.messages import Error, Hello


class AttemptWorker(msgspec.Struct, frozen=True):
    """A worker that gets one attempt."""

    worker_id: str
    key: str
    """Its public key."""


class AttemptWorkers:
    """The workers that an executor has made, or will find. They get no attempts of other executors."""

    def __init__(self) -> None:
        self._by_id: dict[str, AttemptWorker] = {}
        self._ids: dict[str, str] = {}
        """Ids by key."""
        self._unread: set[str] = set()

    def expect(self, worker: AttemptWorker) -> None:
        """Admits the worker from now on."""
        self.forget(worker.worker_id)
        self._by_id[worker.worker_id] = worker
        self._ids[worker.key] = worker.worker_id

    def forget(self, worker_id: str) -> None:
        """Admits the worker no longer. One that is connected stays so until it leaves."""
        worker = self._by_id.pop(worker_id, None)
        if worker is not None:
            self._ids.pop(worker.key, None)

    def __contains__(self, worker_id: str) -> bool:
        return worker_id in self._by_id

    def __len__(self) -> int:
        return len(self._by_id)

    # -- keys ---------------------------------------------------------------------------------------------------
    def await_list(self, executor: str) -> None:
        """Called by an executor whose workers are not all known: an unknown key may be that of one of them."""
        self._unread.add(executor)

    def listed(self, executor: str) -> None:
        """Called when all workers of the executor are known."""
        self._unread.discard(executor)

    @property
    def complete(self) -> bool:
        """False if an unknown key may still become known."""
        return not self._unread

    def admits(self, key: str | None) -> bool:
        return key is not None and key in self._ids

    def concerns(self, key: str | None, hello: Hello) -> bool:
        """True if the key, or the id that is claimed, is that of a worker for one attempt."""
        return self.admits(key) or hello.worker_id in self._by_id

    def refusal(self, key: str | None, hello: Hello) -> Error | None:
        """Returns why a hello that concerns such a worker is refused; None if it is the worker's own."""
        expected = self._by_id.get(hello.worker_id)
        if expected is None:
            shown = shortened(key or "")
            return Error(
                "key_refused", f"the key {shown} belongs to another worker than {hello.worker_id}", retry=False
            )
        if expected.key != key:
            return Error("worker_in_use", f"worker {hello.worker_id} belongs to another key", retry=False)
        return None
