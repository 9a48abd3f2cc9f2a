"""Runs the other side in Python: a handler that subscribes to steps and publishes their results.

One thread has both sockets. Batches are run in threads of a pool, several at a time, the steps of one batch in their
order, each answered when it is done. A step that is published again while it runs, or after it was answered, is not
run again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import Any

import msgspec
import zmq

from turnout.errors import InputError, PermanentFailure
from turnout.executors.ipc import make_private
from turnout.executors.pubsub.contexts import Contexts
from turnout.executors.pubsub.settings import PubSubSettings
from turnout.model.events import error_info
from turnout.model.values import dump_output
from turnout.wire.documents import ResultMetadata, Step, StepBatch, StepError, StepResult, StepResults
from turnout.wire.messages import Malformed
from turnout.wire.topics import STEPS, VERSION, read_steps, results_frame

log = logging.getLogger("turnout.pubsub.handler")

MAX_REMEMBERED = 10_000
"""Answers that are kept, to be published again."""

Handler = Callable[[Step], Any]


class ZmqPubSubHandler:
    """Runs ``handlers``, functions of a step by the names that workflows know them by, until it is stopped.

    >>> with ZmqPubSubHandler({"Ship": lambda step: step.metadata.args}):
    ...     pass
    """

    def __init__(
        self,
        handlers: Mapping[str, Handler],
        settings: PubSubSettings | None = None,
        *,
        context: zmq.Context[Any] | None = None,
        threads: int = 4,
    ) -> None:
        self.settings = settings or PubSubSettings()
        self.settings.check()
        self._handlers = dict(handlers)
        self._context = context
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="turnout-pubsub-handler")
        self._answers: SimpleQueue[StepResults] = SimpleQueue()
        self._seen: OrderedDict[str, StepResult | None] = OrderedDict()
        """By token: the answer, None while the step waits or runs."""
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="turnout-pubsub-handler", daemon=True)
        self._failure: BaseException | None = None
        self._bound = threading.Event()

    def start(self) -> None:
        """Returns when both sockets are there; raises if the endpoint of results is taken."""
        self._thread.start()
        self._bound.wait()
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Takes nothing more, finishes what it runs, and publishes that."""
        self._ended.set()
        self._thread.join()

    def __enter__(self) -> ZmqPubSubHandler:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def _loop(self) -> None:
        contexts = Contexts(self.settings, self._context)
        steps, results = contexts.context.socket(zmq.SUB), contexts.context.socket(zmq.PUB)
        steps.setsockopt(zmq.LINGER, 0)
        results.setsockopt(zmq.LINGER, 500)
        try:
            self._open(steps, results)
            while not self._ended.is_set():
                if steps.poll(self.settings.handler_poll_interval_ms):
                    self._take(steps.recv_multipart())
                self._publish(results)
            steps.close()
            self._pool.shutdown()
            self._publish(results)
        except zmq.ZMQError as error:
            if not self._bound.is_set():
                self._failure = error
            elif error.errno != zmq.ETERM:
                log.exception("the handler ended")
        finally:
            self._pool.shutdown(wait=False, cancel_futures=True)
            contexts.end(steps, results)
            self._bound.set()

    def _open(self, steps: zmq.Socket[bytes], results: zmq.Socket[bytes]) -> None:
        settings = self.settings
        results.setsockopt(zmq.SNDHWM, settings.result_queue_hwm)
        publisher = settings.handler_result_publisher or settings.rust_result_subscriber
        if settings.bind_results:
            results.connect(publisher)
        else:
            results.bind(publisher)
            make_private(results.getsockopt_string(zmq.LAST_ENDPOINT))
        steps.setsockopt(zmq.RCVHWM, settings.step_queue_hwm)
        steps.connect(settings.handler_step_subscriber or settings.rust_step_publisher)
        steps.setsockopt(zmq.SUBSCRIBE, STEPS)
        self._bound.set()

    def _publish(self, results: zmq.Socket[bytes]) -> None:
        while True:
            try:
                results.send(results_frame(self._answers.get_nowait()))
            except Empty:
                return

    def _take(self, frames: list[bytes]) -> None:
        try:
            batch = read_steps(b"".join(frames))
        except Malformed as error:
            log.warning("a message is dropped: %s", error)
            return
        with self._lock:
            known = [result for step in batch.steps if (result := self._seen.get(step.token)) is not None]
            new = [step for step in batch.steps if step.token not in self._seen]
            self._seen.update(dict.fromkeys(step.token for step in new))
            while len(self._seen) > MAX_REMEMBERED:
                self._seen.popitem(last=False)
        if known or not batch.steps:
            self._answer(batch, known)
        if new:
            self._pool.submit(self._run, batch, new)

    def _run(self, batch: StepBatch, steps: list[Step]) -> None:
        for step in steps:
            result = self._run_one(step)
            with self._lock:
                self._seen[step.token] = result
            self._answer(batch, [result])

    def _answer(self, batch: StepBatch, results: list[StepResult]) -> None:
        self._answers.put(StepResults(batch_id=batch.batch_id, protocol_version=VERSION, results=tuple(results)))

    def _run_one(self, step: Step) -> StepResult:
        handler = self._handlers.get(step.handler_class)
        if handler is None:
            missing = StepError(f"there is no handler {step.handler_class!r} here", "HandlerMissing")
            return _result(step, "error", error=missing)
        began = time.monotonic()
        try:
            # As text, so that nothing is left that could fail in the thread that publishes.
            output = msgspec.Raw(dump_output(handler(step)).encode())
        except BaseException as error:
            info = error_info(error)
            retryable = not isinstance(error, PermanentFailure | InputError)
            failure = StepError(info.message, info.type, tuple(info.traceback.splitlines()[-5:]), info.mro, info.code)
            return _result(step, "failed", error=failure, retryable=retryable)
        return _result(step, "completed", output=output, execution_time_ms=(time.monotonic() - began) * 1000)


def _result(
    step: Step,
    status: Any,
    *,
    output: Any = None,
    error: StepError | None = None,
    retryable: bool = True,
    execution_time_ms: float | None = None,
) -> StepResult:
    metadata = ResultMetadata(
        token=step.token, attempt=step.metadata.attempt, retryable=retryable, execution_time_ms=execution_time_ms
    )
    return StepResult(step_id=step.step_id, status=status, output=output, error=error, metadata=metadata)
