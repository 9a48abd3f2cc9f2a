"""Supervises the attempts of a cluster, inside of the cluster: it outlives orchestrators, and keeps their results.

To every orchestrator it is a worker: it says hello, lists what it holds, begins only in contact, asks before a body
that may begin once, and keeps each result until it is acknowledged. It runs nothing itself: its host launches a job on
a node for each step, and the node asks here before its body begins.
"""

from __future__ import annotations

import asyncio
import logging
import os
import uuid
from collections import Counter
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from turnout.contracts.clock import boot_time
from turnout.executors.cluster.host import Host, refused
from turnout.executors.cluster.job_step import encode_step, resources_of
from turnout.executors.cluster.links import Link, Links, within
from turnout.model.events import decode_result
from turnout.model.workers import ANY_HANDLER
from turnout.runtime.process_info import boot_id, pid_namespace, process_started
from turnout.runtime.step_output import progress_in
from turnout.wire.frames import JSON, MSGPACK
from turnout.wire.held_steps import HeldStep, HeldSteps, unable
from turnout.wire.messages import MAX_CREDITS, VERSION, Hello, Progress
from turnout.wire.result_codec import answer_of

log = logging.getLogger("turnout.cluster")

TICK = 0.2
"""Seconds between two looks at what is due by time."""
BEGIN_WAIT = 20.0
"""Seconds that a node waits for leave to begin, at most, before it asks again."""
MIN_AHEAD = 2
"""Attempts that wait in the cluster at least, also in one that has no node at present."""
OVERDUE = "its deadline had passed before it could begin"


class Supervisor:
    """Everything here runs on one event loop."""

    def __init__(self, host: Host, *, name: str, ahead: int | None = None) -> None:
        self.holder = uuid.uuid4().hex
        """A supervisor that was restarted has lost its memory, and so another identity."""
        self._host = host
        self._held_steps = HeldSteps()
        self._links = Links(self._hello, self._held_steps)
        self._name = name
        self._ahead = ahead
        self._launched: set[str] = set()
        self._nodes: dict[str, str] = {}
        """By the token of an attempt that has begun: its node."""
        self._stops: dict[str, asyncio.Event] = {}
        """By the token of an attempt that has begun: set when it is to end."""
        self._lines: Counter[str] = Counter()
        """By the token of an attempt that has begun: how many lines and reports of progress came."""
        self._changed = asyncio.Event()
        self._ticking: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._ticking = asyncio.get_running_loop().create_task(self._tick_forever())

    def stop(self) -> None:
        if self._ticking is not None:
            self._ticking.cancel()

    # -- orchestrators ----------------------------------------------------------------------------------------------
    async def exchange(
        self, hub: str, connection: int, frames: Sequence[Sequence[bytes]], wait: float
    ) -> dict[str, Any]:
        """Takes the messages of an orchestrator. With ``wait``, returns those for it, within so many seconds."""
        out: list[list[bytes]] = []
        link = self._links.use(hub, connection, boot_time())
        if link is not None:
            for message in frames:
                link.session.receive([bytes(frame) for frame in message], boot_time())
            self._round()
            if wait:
                out = await self._messages(link, connection, wait)
        return {"holder": self.holder, "frames": out, "figures": self._host.figures() if wait else None}

    async def _messages(self, link: Link, connection: int, wait: float) -> list[list[bytes]]:
        if not link.session.outbox:
            link.ready.clear()
            await within(link.ready, wait)
        if link.connection != connection:
            return []  # the answer to this call is not read any more
        link.used_at = boot_time()
        out, link.session.outbox = link.session.outbox, []
        return out

    def _hello(self) -> Hello:
        return Hello(
            versions=(VERSION,),
            worker_id=self.holder,
            seq=0,
            codecs=(JSON, MSGPACK),
            credits=self._credits(),
            concurrency=min(self._host.slots(), MAX_CREDITS),
            handlers=(ANY_HANDLER,),
            name=self._name,
            language="python",
            sdk_version=version("turnout"),
            host=os.uname().nodename,
            pid=os.getpid(),
            boot_id=boot_id(),
            pid_namespace=pid_namespace(),
            process_started=process_started(os.getpid()) or "",
        )

    def _credits(self) -> int:
        """Returns how many attempts to ask for: more than run at once, so that an autoscaler sees what waits."""
        slots = self._host.slots()
        return min(MAX_CREDITS, slots + (max(slots, MIN_AHEAD) if self._ahead is None else self._ahead))

    def in_use(self, name: str, default: float) -> float:
        """Returns how much of this resource the attempts have that were launched, at most: a cluster does not say which
        of those that have not begun it has placed. ``default`` is that of an attempt that asks for none."""
        steps = (self._held_steps.table[token].step for token in self._launched if token in self._held_steps.table)
        return sum(resources_of(step).get(name, default) for step in steps)

    # -- nodes ------------------------------------------------------------------------------------------------------
    async def begin(self, token: str, node: str) -> float | None:
        """Returns for how many seconds from now the body may begin; 0: ask again; None: it is not to begin here."""
        ends = boot_time() + BEGIN_WAIT
        while True:
            now = boot_time()
            held_step = self._held_steps.table.get(token)
            if held_step is None or held_step.state != "waiting":
                return None
            if held_step.overdue(now):
                self._held_steps.return_step(token, OVERDUE)
                self._round()
                return None
            until = self._links.contacts(now).get(held_step.hub)
            if until is not None and held_step.granted:
                self._held_steps.begin(token)
                self._nodes[token], self._stops[token] = node, asyncio.Event()
                return until - now
            if until is not None and not held_step.start_wanted:
                # Once: a round wakes all that wait here, and each of them would wake the others again.
                self._held_steps.request_start(token)
                self._round()
            if now >= ends:
                return 0.0
            self._changed.clear()
            await within(self._changed, TICK)

    async def watch(self, token: str, wait: float) -> bool:
        """Returns True as soon as the attempt is to end; False after so many seconds."""
        stop = self._stops.get(token)
        if stop is None:
            return True
        await within(stop, wait)
        return stop.is_set()

    def output(self, token: str, first: int, entries: Sequence[tuple[str, str]]) -> None:
        """Takes lines and progress of a running attempt, as stream and text, numbered from ``first`` on. Those that it
        has already are dropped."""
        held_step = self._held_steps.table.get(token)
        if held_step is None or token not in self._stops:
            return
        new = entries[max(0, self._lines[token] - first) :]
        self._lines[token] = max(self._lines[token], first + len(entries))
        for stream, text in new:
            progress = progress_in(stream, text)
            if progress is None:
                self._held_steps.add_line(token, stream, text)
                continue
            for session in self._links.open:
                if session.hub == held_step.hub:
                    session.progress(Progress(token, progress.done, progress.total, progress.message))
        self._round()

    def finish(self, token: str, result: bytes) -> None:
        """Takes the result of an attempt; the first counts."""
        held_step = self._held_steps.table.get(token)
        if held_step is not None and held_step.state == "running":
            self._held_steps.finish(token, answer_of(held_step.step, decode_result(result)))
        self._ended(token)

    def lost(self, token: str, reason: str) -> None:
        """Called when the node of this attempt, or its process there, is gone. One that has not begun is returned."""
        held_step = self._held_steps.table.get(token)
        if held_step is not None and held_step.state == "running":
            self._held_steps.finish(token, unable(held_step.step, "lost", reason))
        elif held_step is not None and held_step.state == "waiting":
            self._held_steps.return_step(token, reason)
        self._ended(token)

    def node_gone(self, node: str, reason: str) -> None:
        """Called when a node is gone: what had begun there is lost."""
        for token in [token for token, at in self._nodes.items() if at == node]:
            self.lost(token, reason)

    def _ended(self, token: str) -> None:
        self._nodes.pop(token, None)
        del self._lines[token]
        if (stop := self._stops.pop(token, None)) is not None:
            stop.set()
        self._launched.discard(token)
        self._round()

    # -- rounds -----------------------------------------------------------------------------------------------------
    def _round(self) -> None:
        """Acts on what has come, launches what is new, and reports what has changed."""
        self._act()
        for token, held_step in tuple(self._held_steps.waiting.items()):
            if token not in self._launched:
                self._launch(held_step)
        for token in [each for each in self._launched if each not in self._stops]:
            if token not in self._held_steps.waiting:
                self._launched.discard(token)
                self._host.recall(token)
        if changed := self._held_steps.take_changed():
            now = boot_time()
            for session in self._links.open:
                mine = [each for each in changed if each.hub == session.hub]
                if mine:
                    session.report(mine, now)
        self._changed.set()
        self._links.wake()

    def _launch(self, held_step: HeldStep) -> None:
        token, step = held_step.token, held_step.step
        try:
            self._host.launch(token, encode_step(step), resources_of(step))
        except Exception as error:
            log.warning("the cluster does not take attempt %s: %s: %s", token, type(error).__name__, error)
            self._held_steps.finish(token, refused(step, error))
        else:
            self._launched.add(token)

    def _act(self) -> None:
        for stopped in self._links.take_stops(boot_time()):
            if (stop := self._stops.get(stopped)) is not None:
                stop.set()

    async def _tick_forever(self) -> None:
        while True:
            await asyncio.sleep(TICK)
            try:
                self._tick(boot_time())
            except Exception:
                log.exception("a look at what is due failed and will be repeated")

    def _tick(self, now: float) -> None:
        self._links.tick(now)
        self._links.share(self._credits(), min(self._host.slots(), MAX_CREDITS))
        for held_step in tuple(self._held_steps.waiting.values()):
            if held_step.overdue(now):
                self._held_steps.return_step(held_step.token, OVERDUE)
            elif self._links.is_gone(held_step.hub, now):
                self._held_steps.return_step(held_step.token, "its hub is gone")
        self._round()
