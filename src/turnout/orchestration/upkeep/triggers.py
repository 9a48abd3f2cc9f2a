"""Polls event triggers: one orchestrator at a time calls each, and every key that it yields starts one run."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from turnout.authoring.definition import Definition
from turnout.authoring.registry import Registry
from turnout.authoring.triggers import UNKNOWN_WORKFLOW, Trigger
from turnout.contracts.store import TriggerStore
from turnout.errors import StoreError, TurnoutError
from turnout.model.logs import storable
from turnout.model.triggers import MAX_ERROR, MAX_EVENTS, ClaimedPoll, Event, Poll, checked_event, event_key, next_delay
from turnout.model.values import dump_output
from turnout.orchestration.background import Background
from turnout.orchestration.run_requests import RunRequest, RunRequests
from turnout.orchestration.session import OrchestratorSession
from turnout.orchestration.stages.pending_submissions import PendingSubmissions
from turnout.rate_limited_log import RateLimitedLog
from turnout.runtime.poll_thread import poll_in_thread

log = logging.getLogger("turnout.triggers")

LOOK_INTERVAL = 2.0
"""Seconds after which a change that another process made, such as a pause, is seen at the latest."""
UNKNOWN_TIMEOUT = 3.0
"""Seconds after which a trigger whose workflow is not there is reported."""
LEASE_MARGIN = 30.0
"""Seconds that a poll has beyond the timeout of its function, for storing the runs of its events."""


class TriggerPolls:
    """The triggers of this program whose workflows are registered here. Used on one event loop."""

    def __init__(
        self,
        store: TriggerStore,
        registry: Registry,
        session: OrchestratorSession,
        *,
        requests: RunRequests,
        submissions: PendingSubmissions,
        background: Background,
        tenant: str,
        triggers: Callable[[], Sequence[Trigger]],
    ) -> None:
        self._store = store
        self._registry = registry
        self._session = session
        self._requests = requests
        self._submissions = submissions
        self._background = background
        self._in_thread = background.in_thread
        self._tenant = tenant
        """The tenant of triggers whose workflows have no definition here."""
        self._triggers = triggers
        self._stored: dict[str, float] = {}
        """The interval that each trigger was stored with, by full name."""
        self._polling: dict[str, asyncio.Task[None]] = {}
        self._calls: dict[str, Future[list[Any]]] = {}
        """The last call of each: one that took too long may still run, and is not called a second time meanwhile."""
        self._missing: dict[str, float] = {}
        """Triggers whose workflows have no definition here, by full name, with the monotonic time since when."""
        self._reported: set[str] = set()
        self._limited_log = RateLimitedLog(log)
        self._loop: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()

    def start(self) -> None:
        self._loop = self._background.spawn(self._run())

    async def stop(self) -> None:
        tasks = [task for task in (self._loop, *self._polling.values()) if task is not None]
        for task in tasks:
            task.cancel()
        polling = bool(self._polling)
        await asyncio.gather(*tasks, return_exceptions=True)
        if polling:
            with contextlib.suppress(StoreError):  # their leases end with the session
                await self._in_thread(self._store.release_polls, self._session.id)

    async def _run(self) -> None:
        while True:
            delay = LOOK_INTERVAL
            try:
                delay = await self._round()
                self._limited_log.recovered("triggers are polled again")
            except StoreError as error:
                self._limited_log.failure("polls of triggers are deferred: %s", error)
            except Exception:
                log.exception("triggers could not be polled")
            self._changed.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(max(delay, 0.01), LOOK_INTERVAL)):
                    await self._changed.wait()

    async def _round(self) -> float:
        """Claims and begins the polls that are due. Returns the seconds until the next one is."""
        known = self._known()
        await self._report_unknown()
        if not known or not self._session.may_start:
            return LOOK_INTERVAL
        for name, (each, definition) in known.items():
            if self._stored.get(name) != each.every:
                await self._in_thread(self._store.put_trigger, name, definition.spec.full_name, each.every)
                self._stored[name] = each.every
        delays = await self._in_thread(
            self._store.trigger_delays, [name for name in known if name not in self._polling]
        )
        for name in [name for name, delay in delays.items() if delay <= 0]:
            each, definition = known[name]
            lease = each.timeout + LEASE_MARGIN
            claimed = await self._in_thread(self._store.claim_poll, name, self._session.id, lease)
            if claimed is not None:
                self._polling[name] = self._background.spawn(self._poll(name, each, definition, claimed))
        return min((delay for delay in delays.values() if delay > 0), default=LOOK_INTERVAL)

    def _known(self) -> dict[str, tuple[Trigger, Definition]]:
        found: dict[str, tuple[Trigger, Definition]] = {}
        workflows = self._registry.workflows
        for each in self._triggers():
            for full_name, definition in workflows.items():
                if each.is_for(full_name):
                    found[f"{full_name}::{each.name}"] = each, definition
        return found

    async def _report_unknown(self) -> None:
        """Stores and logs triggers whose workflows have no definition here, once each. A workflow may be registered
        shortly after its trigger."""
        names, now = self._registry.workflows, time.monotonic()
        missing = {
            each.full_name(self._tenant): (each, why)
            for each in self._triggers()
            if (why := each.missing(names)) is not None
        }
        self._missing = {name: self._missing.get(name, now) for name in missing}
        self._reported &= missing.keys()
        for name, (each, why) in missing.items():
            if name not in self._reported and now - self._missing[name] >= UNKNOWN_TIMEOUT:
                self._reported.add(name)
                log.warning("%s: %s", UNKNOWN_WORKFLOW, why)
                error = f"{UNKNOWN_WORKFLOW}: {why}"
                await self._in_thread(
                    self._store.put_unknown_trigger, name, name.rpartition("::")[0], each.every, error[:MAX_ERROR]
                )

    # -- one poll -------------------------------------------------------------------------------------------------
    async def _poll(self, name: str, trigger: Trigger, definition: Definition, claimed: ClaimedPoll) -> None:
        runs, poll = 0, Poll(claimed.state)
        try:
            events = await self._events(name, trigger, poll)
            for event in events:
                runs += await self._start(name, definition, event)
            dump_output(poll.state, what="state")
        except StoreError as error:
            log.warning("the poll of trigger %s is repeated when its lease is over: %s", name, error)
        except Exception as error:
            await self._failed(name, trigger, claimed, runs, error)
        else:
            delay = 0.0 if len(events) >= MAX_EVENTS else trigger.every
            await self._ended(self._store.finish_poll, name, claimed.revision, delay, poll.state, runs)
        finally:
            del self._polling[name]
            self._changed.set()

    async def _events(self, name: str, trigger: Trigger, poll: Poll) -> list[Event]:
        former = self._calls.get(name)
        if former is not None and not former.done():
            raise TurnoutError("its last call has not returned yet", code="trigger_timed_out")
        arguments = (poll,) if trigger.takes_poll else ()
        call = self._calls[name] = poll_in_thread(
            lambda: trigger.function(*arguments), MAX_EVENTS, f"turnout-trigger-{trigger.name}"
        )
        try:
            async with asyncio.timeout(trigger.timeout):
                found = await asyncio.wrap_future(call)
        except TimeoutError:
            if call.done():
                raise  # the function's own
            raise TurnoutError(
                f"it took longer than its timeout of {trigger.timeout:g} s", code="trigger_timed_out"
            ) from None
        return [checked_event(each) for each in found]

    async def _start(self, name: str, definition: Definition, event: Event) -> int:
        """Starts the run of an event, unless its key has started one. Returns the number of runs that were started."""
        try:
            request = RunRequest(
                graph=definition.graph,
                definition=definition,
                input=definition.bind(**event.params),
                key=event_key(name, event.key),
                # The key alone decides: an event that comes again with other values has started its run.
                key_content=event.key.encode(),
                timeout=definition.spec.timeout,
                answered=False,
            )
            submission = self._requests.build(request)
        except TurnoutError as error:
            raise type(error)(f"event {event.key!r}: {error.message}", code=error.code, **error.fields) from error
        self._submissions.put([submission])
        return int(await submission.accepted.wait() == submission.new.run_id)

    async def _failed(self, name: str, trigger: Trigger, claimed: ClaimedPoll, runs: int, error: Exception) -> None:
        delay = next_delay(trigger.every, claimed.failures + 1)
        text = error.message if isinstance(error, TurnoutError) else f"{type(error).__name__}: {error}"
        log.warning(
            "trigger %s failed, and is polled again in %g s: %s",
            name,
            delay,
            text,
            exc_info=None if isinstance(error, TurnoutError) else error,
        )
        await self._ended(self._store.fail_poll, name, claimed.revision, delay, storable(text[:MAX_ERROR]), runs)

    async def _ended(self, end: Callable[..., bool], name: str, *values: Any) -> None:
        try:
            if not await self._in_thread(end, name, *values):
                log.warning("the poll of trigger %s took longer than its lease; another server has polled it", name)
        except StoreError as error:
            log.warning("the poll of trigger %s is repeated when its lease is over: %s", name, error)
