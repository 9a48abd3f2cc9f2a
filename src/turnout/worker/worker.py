"""Runs a worker: takes steps from its hubs, runs them and sends results, in one thread that has the sockets.

Nothing is asked for on a timer while there is work: every round takes all that has come in, begins what may begin, and
says all that is new in as few messages as there are batches.
"""

from __future__ import annotations

import contextlib
import logging
import os
import uuid
from collections import Counter
from collections.abc import Mapping
from functools import partial
from importlib.metadata import version
from math import inf

import zmq

from turnout.contracts.clock import boot_time
from turnout.errors import WorkerRefused
from turnout.runtime.attempt import Key
from turnout.runtime.capture import capture
from turnout.runtime.garbage_collector import collect_less_often
from turnout.runtime.process_info import boot_id, pid_namespace, process_started
from turnout.runtime.signals import StopSignals
from turnout.runtime.step_output import StepOutput, progress_in
from turnout.wire.documents import StepResult
from turnout.wire.frames import JSON, MSGPACK
from turnout.wire.held_steps import HeldStep, HeldSteps, unable
from turnout.wire.messages import VERSION, Hello, Progress
from turnout.wire.worker_session import DrainRequested, HubClosed, Reconnect, SessionState, Stop
from turnout.worker.attempts import Attempts
from turnout.worker.connection import Trace
from turnout.worker.handlers import Handlers
from turnout.worker.hubs import Hubs
from turnout.worker.one_attempt import OneAttempt
from turnout.worker.prefetch import Prefetch, waits_too_long
from turnout.worker.settings import WorkerSettings
from turnout.worker.status import Figures

log = logging.getLogger("turnout.worker")

BYE_TIMEOUT = 1.0
"""Seconds that a hub has to answer bye."""
MAX_UNACKNOWLEDGED = 1_000
"""With so many results that no hub has acknowledged, nothing more is asked for until half of them are."""
STUCK = 5.0
"""Seconds after which a thread whose body was ended, and has not returned, does not count as a slot any more."""
OVERDUE = "its deadline had passed before it could begin"


class Worker:
    """A worker process: ``run`` serves its hubs until ``stop``, which may be called from any thread."""

    def __init__(self, handlers: Handlers, settings: WorkerSettings, *, trace: Trace | None = None) -> None:
        settings.check()
        self.settings = settings
        self.worker_id = settings.worker_id or uuid.uuid4().hex
        self._once = OneAttempt(settings.once, settings.once_timeout, boot_time()) if settings.once else None
        self._poller = zmq.Poller()
        self._waking, self._woken = os.pipe()
        os.set_blocking(self._waking, False)
        os.set_blocking(self._woken, False)
        self._poller.register(self._waking, zmq.POLLIN)
        self._signalled = False
        self._spoken = StepOutput(settings.logs)
        self._held_steps = HeldSteps()
        self._hubs = Hubs(self._hello(handlers), self._held_steps, settings, self._poller, trace)
        self._attempts = Attempts(
            handlers,
            settings.concurrency,
            processes=settings.processes,
            grace=settings.kill_grace,
            output=self._spoken if settings.logs.capture else None,
            wake=self._wake,
        )
        self._asking = Prefetch()
        self._asked_to_stop = 0
        self._stop_by = inf
        self._bye_sent_at = inf
        self._next_tick = -inf
        self._full = False
        self._stuck_since = inf
        self._ended: Counter[str] = Counter()
        self._started = boot_time()

    def _hello(self, handlers: Handlers) -> Hello:
        settings = self.settings
        return Hello(
            versions=(VERSION,),
            worker_id=self.worker_id,
            seq=0,
            # JSON first: it is as quick here, and says whole numbers of any size.
            codecs=(JSON, MSGPACK),
            credits=1 if settings.once else 2 * settings.concurrency,
            concurrency=settings.concurrency,
            handlers=handlers.names,
            labels=settings.labels,
            name=settings.shown_name,
            language="python",
            sdk_version=version("turnout"),
            host=os.uname().nodename,
            pid=os.getpid(),
            boot_id=boot_id(),
            pid_namespace=pid_namespace(),
            process_started=process_started(os.getpid()) or "",
        )

    # -- from anywhere ----------------------------------------------------------------------------------------------
    def stop(self) -> None:
        """Drains the worker at the first call; ends it at once at the second."""
        self._asked_to_stop += 1
        self._wake()

    @property
    def figures(self) -> Figures:
        now = boot_time()
        running, waiting = len(self._attempts), len(self._held_steps.waiting)
        return Figures(
            worker_id=self.worker_id,
            name=self.settings.shown_name,
            uptime_seconds=now - self._started,
            draining=self._asked_to_stop > 0,
            concurrency=self.settings.concurrency,
            running=running,
            stuck=self._attempts.stuck,
            waiting=waiting,
            unacknowledged=max(0, len(self._held_steps) - waiting - running),
            ended=dict(self._ended),
            hubs=self._hubs.figures(now),
        )

    def _wake(self) -> None:
        # The flag is cleared before anything is looked at, so what came while it was set is always seen.
        if not self._signalled:
            self._signalled = True
            with contextlib.suppress(OSError):
                os.write(self._woken, b".")

    # -- life -------------------------------------------------------------------------------------------------------
    def run(self) -> bool:
        """Runs until ``stop``, once. Returns True if every started step ended and was acknowledged; of a worker for one
        attempt, if that one did.

        Raises WorkerRefused if every hub refuses the worker for good.
        """
        end_capture = capture() if self.settings.logs.capture else lambda: None
        restore_collector = collect_less_often()
        try:
            with StopSignals(lambda _: self.stop()):
                while not self._over():
                    left = max(0.0, self._next_tick - boot_time())
                    self._round(dict(self._poller.poll(int(left * 1000) + 1)))
            return not self._held_steps and (self._once is None or self._once.taken)
        finally:
            self._abandon()
            self._hubs.leave()
            os.close(self._waking)
            os.close(self._woken)
            end_capture()
            restore_collector()

    def _abandon(self) -> None:
        """Ends what still runs with this process. Its hubs get the results at once; they do not count as failures of
        the handler."""
        self._take_results()
        self._attempts.stop(0.0)
        for held_step in self._held_steps:
            if held_step.state == "running":
                self._finish(unable(held_step.step, "lost", "its worker was stopped"))
        self._hubs.report(self._held_steps.take_changed(), boot_time())
        self._hubs.flush()

    def _over(self) -> bool:
        if (refusal := self._hubs.refusal) is not None:
            raise WorkerRefused(f"hub {refusal[0]} refuses this worker: {refusal[1]}", hub=refusal[0])
        if not self._asked_to_stop:
            return False
        now = boot_time()
        if self._asked_to_stop > 1 or now >= self._stop_by:
            return True
        if len(self._held_steps):
            return False
        if self._bye_sent_at == inf:
            self._bye_sent_at = now
            for session in self._hubs.open:
                session.bye("drained")
            self._hubs.flush()
        return now - self._bye_sent_at >= BYE_TIMEOUT or not self._hubs.open

    # -- a round ----------------------------------------------------------------------------------------------------
    def _round(self, ready: Mapping[object, int]) -> None:
        now = boot_time()
        if self._waking in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(self._waking, 4096)
            self._signalled = False
        self._hubs.receive(ready, now)
        self._act(now)
        if self._once is not None and self._once.is_over(self._held_steps, now):
            self._asked_to_stop = max(1, self._asked_to_stop)
        if self._asked_to_stop:
            self._drain(now)
        self._take_results()
        # The process may have been stopped since the round began: whether steps may begin is asked of the clock anew,
        # and once more right before each body.
        self._begin(boot_time())
        self._asking.busy(len(self._attempts) > 0, now)
        if news := self._held_steps.take_changed():
            self._hubs.report(news, now)
        if now >= self._next_tick:
            self._tick(now)
        self._hubs.flush()

    def _take_results(self) -> None:
        ended = self._attempts.ended()
        # What these attempts have written was collected before their results were.
        silent = self._spoken.silent
        for key, result in ended:
            if not silent:
                self._spoken.take_last(key, self._say)
            self._attempts.let_go(key)
            self._finish(result)
        self._asking.ended(len(ended))

    def _begin(self, now: float) -> None:
        """Starts what may start, in the order of arrival."""
        waiting = self._held_steps.waiting
        free = self._attempts.free
        if not waiting or free <= 0 or self._asked_to_stop:
            return
        chosen: list[HeldStep] = []
        asking = 0
        contacts = self._hubs.contacts(now)
        attempts, held_steps, once = self._attempts, self._held_steps, self._once
        for held_step in tuple(waiting.values()):
            if len(chosen) + asking >= free:
                break
            step = held_step.step
            if step.metadata.deadline_ms is not None and held_step.overdue(now):
                held_steps.return_step(held_step.token, OVERDUE)
            elif once is not None and held_step.token != once.token:
                held_steps.return_step(held_step.token, "this worker takes one attempt, which is another")
            elif held_step.hub not in contacts or attempts.busy_with(step):
                continue
            elif held_step.granted:
                chosen.append(held_step)
            else:
                held_steps.request_start(held_step.token)
                asking += 1
        fences = {hub: partial(float, until) for hub, until in contacts.items()}
        steps = [(held_steps.begin(each.step.metadata.token), fences[each.hub]) for each in chosen]
        for refused in self._attempts.begin(steps):
            self._finish(refused)

    def _finish(self, result: StepResult) -> None:
        metadata, ended = result.metadata, self._ended
        outcome = metadata.outcome or result.status
        ended[outcome] = ended.get(outcome, 0) + 1
        self._held_steps.finish(metadata.token, result)

    def _say(self, key: Key, stream: str, text: str) -> None:
        token = self._attempts.token_of(key)
        if token is None:
            return
        progress, held_step = progress_in(stream, text), self._held_steps.table.get(token)
        if progress is None:
            self._held_steps.add_line(token, stream, text)
        elif held_step is not None and (session := self._hubs.session_of(held_step.hub)) is not None:
            session.progress(Progress(token, progress.done, progress.total, progress.message))

    def _act(self, now: float) -> None:
        """Applies the actions of the sessions."""
        for connection, action in self._hubs.actions():
            match action:
                case Stop():
                    self._attempts.cancel(action.token)
                case Reconnect():
                    self._hubs.lost(connection, now, action.reason)
                case DrainRequested():
                    log.info("hub %s asks this worker to leave: %s", connection.address, action.reason)
                    self._asked_to_stop = max(1, self._asked_to_stop)
                case HubClosed() if connection.session.state is SessionState.REFUSED:
                    log.error("hub %s refuses this worker: %s", connection.address, action.reason)
                    self._hubs.close(connection)
                case HubClosed():
                    if self._bye_sent_at == inf:
                        self._hubs.lost(connection, now, f"it sent bye: {action.reason}")

    def _drain(self, now: float) -> None:
        """Sets the credits to 0 and returns steps that have not begun, also those that arrive later."""
        if self._stop_by == inf:
            self._stop_by = now + self.settings.grace
            self._hubs.discovering = False
            running = len(self._attempts)
            steps = "1 step runs, and has" if running == 1 else f"{running} steps run, and have"
            log.info("stopping%s", f": {steps} {self.settings.grace:g} s to finish" if running else "")
            self._hubs.share(0)
        for token in tuple(self._held_steps.waiting):
            self._held_steps.return_step(token, "the worker is stopping")

    # -- by time ----------------------------------------------------------------------------------------------------
    def _tick(self, now: float) -> None:
        if not self._spoken.silent:
            self._spoken.take(self._say)
        self._hubs.tick(now)
        self._act(now)
        self._give_back(now)
        self._hubs.share(self._slots(now))
        self._next_tick = now + self._hubs.interval()

    def _give_back(self, now: float) -> None:
        """Returns steps that cannot begin here soon, so that other workers get them."""
        stuck = now - self._stuck_since > STUCK and self._attempts.free <= 0
        for held_step in tuple(self._held_steps.waiting.values()):
            if held_step.overdue(now):
                self._held_steps.return_step(held_step.token, OVERDUE)
            elif stuck:
                self._held_steps.return_step(held_step.token, "all slots are held by bodies that do not return")
            elif self._hubs.gone(held_step.hub, now):
                self._held_steps.return_step(held_step.token, "its hub is gone")
        for held_step in waits_too_long(tuple(self._held_steps.waiting.values()), self.settings.concurrency, now):
            self._held_steps.return_step(held_step.token, "it is not its turn for long")

    def _slots(self, now: float) -> int:
        """Returns how many steps to ask for in all."""
        stuck = self._attempts.stuck
        self._stuck_since = min(self._stuck_since, now) if stuck else inf
        unacknowledged = len(self._held_steps) - len(self._held_steps.waiting) - len(self._attempts)
        self._full = unacknowledged >= (MAX_UNACKNOWLEDGED // 2 if self._full else MAX_UNACKNOWLEDGED)
        if self._asked_to_stop or self._full:
            return 0
        if self._once is not None:
            # Also while the attempt is here: the next hub may give it once more, and has then taken it over.
            return 1
        held = stuck if now - self._stuck_since > STUCK else 0
        return self._asking.credits(self.settings.concurrency - held, now)
