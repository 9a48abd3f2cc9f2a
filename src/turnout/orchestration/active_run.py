"""What an orchestrator keeps in memory for each run that it owns."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec

from turnout.model.events import ExecutionResult
from turnout.model.run_machine import RunMachine

NOTHING_SAID: Mapping[str, str] = {}


class PendingResult(msgspec.Struct, frozen=True, gc=False):
    """A result that waits for the run's next turn; a poller's comes with its inbox row and with its holder."""

    pos: int
    result: ExecutionResult
    inbox: int | None = None
    holder: str | None = None


def portion(answers: list[PendingResult], most: int) -> list[PendingResult]:
    """The first of these answers, as many as have so many characters of output together, and at least one."""
    total = 0
    for number, answer in enumerate(answers):
        total += len(answer.result.output or "")
        if total > most and number:
            return answers[:number]
    return answers


class RunCommand:
    """A command that waits for the run's next turn: from another process (a row) or from this one (a future)."""

    __slots__ = ("done", "ends_hooks", "kind", "reason", "row", "withdrawal")

    def __init__(
        self, kind: str, reason: str | None, *, row: int | None = None, done: asyncio.Future[None] | None = None
    ) -> None:
        self.kind = kind
        self.reason = reason
        self.row = row
        self.done = done
        self.ends_hooks: bool | None = None
        """Of an order to cancel, once it was tried: whether the run was being cancelled already."""
        self.withdrawal: asyncio.Future[None] | None = None
        """Of an order to pause or cancel: done when none of the run's attempts that had not begun will."""

    def acknowledge(self) -> None:
        if self.done is not None and not self.done.done():
            self.done.set_result(None)

    def fail(self, error: BaseException) -> None:
        if self.done is not None and not self.done.done():
            self.done.set_exception(error)


def place_of(error: BaseException) -> str:
    """What raised, and in which line. Messages may name a time or a number that is another one each time."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    where = "" if last is None else f" in {last.tb_frame.f_code.co_filename}:{last.tb_lineno}"
    return f"{type(error).__name__}{where}"


class ActiveRun:
    """A run, what has come in for it, and whether somebody works on it."""

    __slots__ = (
        "busy",
        "commands",
        "dropped",
        "ends_at",
        "grace",
        "has_lost_attempts",
        "just_claimed",
        "machine",
        "queued",
        "queued_for",
        "results",
        "timer",
        "trouble",
        "wait_reasons",
        "waiting_since",
    )

    def __init__(self, machine: RunMachine) -> None:
        self.machine = machine
        self.results: list[PendingResult] = []
        """In order of arrival."""
        self.commands: list[RunCommand] = []
        self.queued = False
        """It is in a stage's queue. A run is in one queue at a time, and in none while it is busy."""
        self.busy = False
        """One of its turns is in the ledger."""
        self.just_claimed = False
        """Just claimed: what an earlier owner left undone is to be looked for."""
        self.grace: dict[tuple[int, int], float] = {}
        """Position and attempt of what workers or pollers held when it was claimed, and until when, by ``boot_time``,
        that is not lost because a lease is over."""
        self.has_lost_attempts = False
        """An attempt of it was lost: some of its tasks may have to run alone."""
        self.dropped = False
        self.trouble = ""
        """Where its last turn raised, and what; empty once a turn got through."""
        self.queued_for: set[str] = set()
        """Executors whose capacity it waits for."""
        self.wait_reasons: Mapping[str, str] = NOTHING_SAID
        """Why its tasks wait, by line, as it was last said; where nothing was, for room."""
        self.waiting_since: dict[str, float] = {}
        """Since when, by executor: its rank in that line until it gets a place there."""
        self.timer: Any = None
        self.ends_at: float | None = None
        """When its timeout is over, by the monotonic clock."""

    def fails_again(self, error: BaseException) -> bool:
        """Whether this is the second time in a row that the same raised in the same place: it always will."""
        trouble = place_of(error)
        again, self.trouble = trouble == self.trouble, trouble
        return again

    @property
    def run_id(self) -> str:
        return self.machine.new.run_id
