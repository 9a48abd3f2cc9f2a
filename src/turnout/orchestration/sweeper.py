"""What catches everything that a lost wake-up, a dead peer or a crash at a bad moment left behind."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence

from turnout.contracts.clock import boot_time
from turnout.contracts.workers import Assigner
from turnout.errors import RunNotFound, StoreError
from turnout.model.children import CHILD
from turnout.model.events import ErrorInfo, ExecutionResult, ExecutionStatus
from turnout.model.logs import storable
from turnout.model.names import task_id
from turnout.model.reasons import NO_CAPACITY
from turnout.model.rows import Glance, InboxRow
from turnout.model.states import TaskState
from turnout.orchestration.complaint import Complaint
from turnout.orchestration.engine import Engine
from turnout.orchestration.inbox import result_in
from turnout.orchestration.lease import seen_dead
from turnout.orchestration.outage import Outage
from turnout.orchestration.owned import Answer, Order, OwnedRun
from turnout.orchestration.parking import rest_of
from turnout.orchestration.redelivery import Redelivery
from turnout.orchestration.stages import Stage

log = logging.getLogger("turnout.sweeper")

INBOX_BATCH = 1_000
ANY_PAUSE = 0.1
NEW_SESSIONS = frozenset({"sessions", "any"})
"""Topics that say that somebody may have come."""


class Sweeper:
    """The slow poll behind every wake-up."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._redelivery = Redelivery(engine)
        self._suspects: set[tuple[str, int, int]] = set()
        self._forgotten_before: set[str] = set()
        self._inbox_known: dict[int, OwnedRun] = {}
        """Inbox rows that were there at the last look, and the run, as it was adopted then, that has them already."""
        self._complaint = Complaint(log)
        self._outage = Outage(engine.settings.lease, time.monotonic())
        self._known = Glance()
        """What the last look at the database has shown."""
        self._outdated = True
        """Somebody may have come since, or the database did not answer."""
        self._topics: set[str] = set()
        self._woken = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._stop_listening = lambda: None

    async def start(self) -> None:
        engine, loop = self._engine, asyncio.get_running_loop()
        await self._bury()
        engine.want_claim()
        engine.wake = self._wake
        self._stop_listening = await engine.in_thread(
            engine.store.listen, lambda topic: loop.call_soon_threadsafe(self._wake, topic)
        )
        self._tasks = [
            loop.create_task(self._listen()),
            loop.create_task(self._sweep()),
            loop.create_task(self._look()),
        ]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.get_running_loop().run_in_executor(None, self._stop_listening)

    # -- wake-ups -----------------------------------------------------------------------------------------------
    def _wake(self, topic: str) -> None:
        if topic in NEW_SESSIONS:
            self._outdated = True
        self._topics.add(topic)
        self._woken.set()

    async def _listen(self) -> None:
        while True:
            await self._woken.wait()
            self._woken.clear()
            topics, self._topics = self._topics, set()
            try:
                await self._heed(topics)
            except StoreError as error:
                self._complaint.say("a wake-up was not followed, the sweep will: %s", error)
            except Exception:
                log.exception("a wake-up was not followed, the sweep will")
            if "any" in topics:
                # SQLite cannot tell our own commits from those of others, so a busy orchestrator wakes itself.
                await asyncio.sleep(ANY_PAUSE)

    async def _heed(self, topics: set[str]) -> None:
        every = "any" in topics
        if every or "runs" in topics:
            self._engine.want_claim()
        if "given" in topics:
            await self._forgotten()
        if every or "commands" in topics:
            await self._commands()
        if every or "inbox" in topics:
            await self._inbox()
        if every or "finished" in topics:
            await self._engine.waiters.check()

    # -- sweeps -------------------------------------------------------------------------------------------------
    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(self._engine.settings.sweep)
            try:
                await self._bury(by_lease=True)
                known = self._known
                if known.unowned:
                    self._engine.want_claim()
                if known.unheard:
                    await self._engine.in_thread(self._engine.store.close_commands)
                await self._heed({"commands", "inbox", "finished"} if known.owns else {"finished"})
                if known.owns:
                    await self._lapsed()
                    await self._strays()
                    await self._forgotten()
                    await self._engine.children.sweep()
                else:
                    self._inbox_known = {}
                self._room()
                self._held_back()
                await self._engine.rebalance.share()
                self._complaint.over("sweeps get through again")
            except StoreError as error:
                self._complaint.say("sweep put off: %s", error)
            except Exception:
                log.exception("sweep failed")

    async def _look(self) -> None:
        """A process that died on this machine is noticed within a second: who is here is known, as a rule, and whether
        a process is there the system can tell."""
        while True:
            await asyncio.sleep(min(0.5, self._engine.settings.sweep))
            try:
                if await self._bury():
                    self._engine.want_claim()
                if self._forgotten_before:
                    await self._forgotten()
            except StoreError as error:
                log.debug("could not look for dead neighbours: %s", error)

    async def _bury(self, *, by_lease: bool = False) -> list[str]:
        engine = self._engine
        if by_lease or self._outdated:
            await self._glance()
        grace = self._outage.grace(time.monotonic())
        found = self._known.sessions
        gone = [session.id for session in found if session.id != engine.session_id and seen_dead(session)]
        if not gone and not (by_lease and self._known.overdue):
            return []
        self._outdated = True  # whoever is gone is to be asked about once
        # After an outage every lease is over, also of those who are there: they come first.
        for assigner in engine.dispatcher.assigners.values() if engine.dispatcher is not None else ():
            await assigner.keep_holders()
        buried = await engine.in_thread(
            engine.store.bury_sessions,
            gone=gone,
            grace=grace,
            spare_holders=self._outage.spares_holders(time.monotonic()),
        )
        if buried:
            log.info("declared dead: %s", ", ".join(buried))
            if engine.dispatcher is not None:
                engine.dispatcher.holders_died(buried)
        return buried

    async def _glance(self) -> None:
        engine = self._engine
        self._outdated = False
        try:
            self._known = await engine.in_thread(engine.store.glance, engine.session_id)
        except BaseException:
            self._outdated = True
            self._outage.away(time.monotonic())
            raise

    async def _commands(self) -> None:
        engine = self._engine
        for command in await engine.in_thread(engine.store.commands_for, engine.session_id):
            owned = engine.runs.get(command.run_id)
            if owned is not None and all(order.row != command.id for order in owned.orders):
                reason = command.reason and storable(command.reason)
                engine.order(owned, Order(command.kind, reason, row=command.id))

    async def _inbox(self) -> None:
        engine = self._engine
        rows, read = await engine.in_thread(self._read_inbox)
        known = self._inbox_known
        self._inbox_known = {row.id: known[row.id] for row in rows if row.id in known}
        new, results = [row for row, _ in read], [result for _, result in read]
        if any(row.holder == CHILD for row in new):
            results = await asyncio.gather(*map(engine.children.opened, new, results))
        for row, result in zip(new, results, strict=True):
            owned = engine.runs.get(row.run_id)
            if owned is None:
                continue
            self._inbox_known[row.id] = owned
            owned.results.append(Answer(row.pos, result, row.id, row.holder))
            engine.enqueue(owned, Stage.STEP_RESULT_PROCESSOR)
        if len(rows) == INBOX_BATCH:
            self._wake("inbox")

    def _read_inbox(self) -> tuple[Sequence[InboxRow], Sequence[tuple[InboxRow, ExecutionResult]]]:
        """All rows, and those that are new with their results. Away from the event loop: a thousand large ones take
        their time."""
        engine, known = self._engine, self._inbox_known
        rows = engine.store.inbox_for(engine.session_id, INBOX_BATCH)
        new = [row for row in rows if row.id not in known or known[row.id] is not engine.runs.get(row.run_id)]
        return rows, [(row, result_in(row)) for row in new]

    async def _lapsed(self) -> None:
        """Attempts of pollers and workers that have gone silent."""
        engine = self._engine
        lapsed = await engine.in_thread(engine.store.lapsed_attempts, engine.session_id)
        flying = engine.dispatcher.in_flight() if lapsed and engine.dispatcher is not None else {}
        spared = await self._spared(lapsed)
        for run_id, pos, attempt, holder in lapsed:
            owned = engine.runs.get(run_id)
            if (run_id, pos) in spared or (task_id(run_id, pos), attempt) in flying:
                continue
            if owned is not None and not owned.busy and not self._redelivery.takes(owned, pos, attempt):
                lost = ExecutionResult(
                    run_id=run_id,
                    task_id=task_id(run_id, pos),
                    attempt=attempt,
                    status=ExecutionStatus.LOST,
                    error=ErrorInfo("Lost", f"its holder {holder} went silent"),
                )
                owned.shaken = True
                owned.results.append(Answer(pos, lost, holder=holder))
                engine.enqueue(owned, Stage.STEP_RESULT_PROCESSOR)

    async def _spared(self, lapsed: Sequence[tuple[str, int, int, str]]) -> set[tuple[str, int]]:
        """Those whose holders may still come back to this orchestrator, which has claimed their runs just now."""
        engine, now = self._engine, boot_time()
        waiting = {
            (run_id, pos): holder
            for run_id, pos, attempt, holder in lapsed
            if (owned := engine.runs.get(run_id)) is not None and now < owned.grace.get((pos, attempt), now)
        }
        if not waiting:
            return set()
        known = await engine.in_thread(engine.store.holders, sorted(set(waiting.values())))
        gone = {name for name, holder in known.items() if seen_dead(holder.session)}
        return {key for key, holder in waiting.items() if holder not in gone}

    async def _strays(self) -> None:
        """Attempts that the database believes are running here, and nobody here knows of. Seen twice, they are lost."""
        engine = self._engine
        if engine.dispatcher is None:
            return
        stored = set(await engine.in_thread(engine.store.running_tasks, engine.session_id))
        in_flight = engine.dispatcher.in_flight()
        strays = {
            (run_id, pos, attempt)
            for run_id, pos, attempt in stored
            if (task_id(run_id, pos), attempt) not in in_flight and self._settled(engine.runs.get(run_id), pos, attempt)
        }
        for run_id, pos, attempt in strays & self._suspects:
            owned = engine.runs[run_id]
            self._lose(owned, pos, attempt, "no executor has it")
        self._suspects = strays - self._suspects

    async def _forgotten(self) -> None:
        """Runs that this session owns and does not know: another orchestrator gave them, or the answer to a claim was
        lost. Seen twice while no claim is under way, they are taken up."""
        engine = self._engine
        if engine.adoption.claiming:
            return
        stored = set(await engine.in_thread(engine.store.owned_runs, engine.session_id))
        forgotten = stored - engine.runs.keys()
        missing = sorted(forgotten & self._forgotten_before)
        self._forgotten_before = forgotten - self._forgotten_before
        if missing and not engine.adoption.claiming:
            await engine.adoption.take_listed(missing)

    @staticmethod
    def _settled(owned: OwnedRun | None, pos: int, attempt: int) -> bool:
        if owned is None or owned.busy or owned.results:
            return False
        row = owned.machine.tasks[pos]
        return row.state is TaskState.RUNNING and row.attempt == attempt

    def _room(self) -> None:
        """Executors that have room again and did not say so."""
        engine = self._engine
        for key in engine.parking.wanted():
            if engine.dispatcher is not None and engine.dispatcher.has_capacity(key):
                engine.on_capacity(key)
        for owned in engine.parking.to_be_alone():
            engine.enqueue(owned, Stage.STEP_ENQUEUER)
        if engine.dispatcher is not None and engine.dispatcher.assigners:
            self._new_reasons(engine.dispatcher.assigners)

    def _new_reasons(self, assigners: Mapping[str, Assigner]) -> None:
        """Tasks wait for another reason than before when workers come, go or are barred: they shall say so."""
        engine = self._engine
        for key, assigner in assigners.items():
            for line, waiting in engine.parking.waited_for(key).items():
                reason = assigner.why_not(rest_of(line))
                if any(owned.reasons.get(line, NO_CAPACITY) != reason for owned in waiting):
                    for owned in engine.parking.next(line, len(waiting)):
                        engine.enqueue(owned, Stage.STEP_ENQUEUER)

    def _held_back(self) -> None:
        """Tasks that became ready while nothing might start here, and wait for no executor."""
        for owned in list(self._engine.runs.values()):
            if owned.machine.ready and not owned.parked:
                self._engine.enqueue(owned, Stage.STEP_ENQUEUER)

    def _lose(self, owned: OwnedRun, pos: int, attempt: int, reason: str) -> None:
        row = owned.machine.tasks[pos]
        if row.state is TaskState.RUNNING and row.attempt == attempt:
            owned.shaken = True
            owned.results.append(Answer(pos, ExecutionResult.lost(owned.machine.event(pos), reason)))
            self._engine.enqueue(owned, Stage.STEP_RESULT_PROCESSOR)

    async def take(self, run_id: str) -> None:
        """Own this run as soon as nobody else does; returns when it is owned by somebody alive, or has ended."""
        engine = self._engine
        while run_id not in engine.runs:
            stored = await engine.in_thread(engine.store.run, run_id)
            if stored is None:
                raise RunNotFound(f"there is no run {run_id}", run_id=run_id)
            if stored.row.state.terminal:
                return
            if stored.owner is not None:
                sessions = await engine.in_thread(engine.store.live_sessions)
                if any(one.id == stored.owner and not seen_dead(one) for one in sessions):
                    return
                await self._bury(by_lease=True)
            loaded = await engine.in_thread(
                engine.store.claim_run, engine.session_id, run_id, engine.settings.limits.inline_output
            )
            if loaded is not None:
                return await engine.adoption.take_over([loaded])
            await asyncio.sleep(0.05)
