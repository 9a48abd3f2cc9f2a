"""Sends results to the runs' owners through the store, in batches, retried until they are accepted."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from turnout.contracts.store import MessageStore
from turnout.errors import StoreError, StoreRejected
from turnout.model.bisection import bisect_failing
from turnout.model.events import ErrorInfo, ExecutionResult, ExecutionStatus

log = logging.getLogger(__name__)

MAX_AT_ONCE = 1_000
INITIAL_BACKOFF, MAX_BACKOFF = 0.05, 2.0


class Outbox:
    """Posts results from a thread of its own. A second post of one attempt changes nothing, so it resends freely.

    It does not wait for a batch to fill: what came while one post was under way goes out with the next.
    """

    def __init__(self, store: MessageStore, accepted: Callable[[Sequence[ExecutionResult]], None]) -> None:
        self._store: MessageStore = store
        self._accepted: Callable[[Sequence[ExecutionResult]], None] = accepted
        self._waiting: deque[tuple[str, ExecutionResult]] = deque()
        self._filled: threading.Event = threading.Event()
        self._stopping: threading.Event = threading.Event()
        self._until: float = math.inf
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._stopping.clear()
        self._until = math.inf
        self._thread = threading.Thread(target=self._post_loop, name="turnout-poller-outbox", daemon=True)
        self._thread.start()

    def put(self, poller: str, result: ExecutionResult) -> None:
        """Adds a result to post in this poller's name, from any thread."""
        self._waiting.append((poller, result))
        self._filled.set()

    def stop(self, timeout: float) -> None:
        """Posts what is left, for at most this many seconds."""
        self._until = time.monotonic() + timeout
        self._stopping.set()
        self._filled.set()
        if self._thread is not None:
            self._thread.join(timeout)

    def _post_loop(self) -> None:
        while True:
            self._filled.wait()
            self._filled.clear()
            while self._waiting:
                batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), MAX_AT_ONCE))]
                by_poller: defaultdict[str, list[ExecutionResult]] = defaultdict(list)
                for poller, result in batch:
                    by_poller[poller].append(result)
                for poller, results in by_poller.items():
                    self._post(poller, results)
            if self._stopping.is_set():
                return

    def _post(self, poller: str, results: Sequence[ExecutionResult]) -> None:
        """Posts results. One that the database refuses does not hold up the others."""
        for part, rejection in bisect_failing(results, partial(self._attempt, poller), bool):
            if rejection is not None:
                self._refuse(poller, part[0], rejection)

    def _attempt(self, poller: str, results: Sequence[ExecutionResult]) -> StoreRejected | None:
        pause = INITIAL_BACKOFF
        while True:
            try:
                self._store.post_results(poller, results)
                self._accepted(results)
                return None
            except StoreRejected as error:
                return error
            except Exception as error:
                if not isinstance(error, StoreError):
                    log.exception("results could not be posted")
                log.warning("%d results wait for the store: %s", len(results), error)
                if time.monotonic() > self._until:
                    return None
                time.sleep(pause)
                pause = INITIAL_BACKOFF if self._stopping.is_set() else min(pause * 2, MAX_BACKOFF)

    def _refuse(self, poller: str, result: ExecutionResult, error: StoreRejected) -> None:
        """Posts a failure in place of a result that the database refuses."""
        if result.status is ExecutionStatus.FAILED and result.error == _refusal(error):
            log.error("the store also refuses the failure that replaces the result of %s: %s", result.task_id, error)
            self._accepted([result])
        else:
            refused = msgspec.structs.replace(
                result, status=ExecutionStatus.FAILED, output=None, retryable=False, error=_refusal(error)
            )
            self._post(poller, [refused])


def _refusal(error: StoreRejected) -> ErrorInfo:
    return ErrorInfo(
        "StoreRejected", f"the database refused this result: {error.code}", mro=("turnout.errors.StoreRejected",)
    )
