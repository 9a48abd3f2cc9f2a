"""What does a worker have in hand, over all its hubs? A token begins once; its result stays until somebody has it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from math import inf

import msgspec

from turnout.wire.documents import Outcome, ResultMetadata, Step, StepError, StepResult
from turnout.wire.messages import Held, HeldState, Line

MAX_REMEMBERED = 20_000
"""Tokens that are finished and known to be."""
MAX_LINES = 10_000
"""Lines of one attempt that wait for their acknowledgement; what comes then is dropped, and the last line says so."""


class Holding(msgspec.Struct, kw_only=True, eq=False, gc=False):
    """One step."""

    step: Step
    batch_id: str
    hub: str
    """Who gave it."""
    arrived: float
    state: HeldState = "waiting"
    granted: bool = False
    """May begin: it needs no leave, or has it."""
    asks: bool = False
    """There is a place for it: leave to begin may be asked for."""
    asked: float = -inf
    result: StepResult | None = None
    sent: float = -inf
    lines: list[Line] = []
    offset: int = 0
    """How many lines came before these."""
    lines_sent: float = -inf
    full: bool = False

    @property
    def token(self) -> str:
        return self.step.token

    @property
    def listed(self) -> Held:
        return Held(self.token, self.state)

    def overdue(self, now: float) -> bool:
        """Whether nobody would want its result any more, so that it need not begin."""
        deadline = self.step.metadata.deadline_ms
        return deadline is not None and now - self.arrived > deadline / 1000


class Holdings:
    """All steps of one worker process."""

    def __init__(self) -> None:
        self.table: dict[str, Holding] = {}
        self.waiting: dict[str, Holding] = {}
        """Those that have not begun, in the order of their arrival."""
        self._news: list[Holding] = []
        self._finished: OrderedDict[str, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self.table)

    def __iter__(self) -> Iterator[Holding]:
        return iter(list(self.table.values()))

    def of(self, hub: str) -> list[Holding]:
        return [each for each in self.table.values() if each.hub == hub]

    def news(self) -> list[Holding]:
        """What has a result, or waits for leave to begin, since the last time: to be told without looking at all."""
        news, self._news = self._news, []
        return news

    def take(self, step: Step, batch_id: str, hub: str, now: float) -> bool:
        """Whether it is new: a token that is here, or was, does not begin again."""
        if step.token in self.table or step.token in self._finished:
            return False
        granted = not step.metadata.confirm_start
        taken = Holding(step=step, batch_id=batch_id, hub=hub, arrived=now, granted=granted, lines=[])
        self.table[step.token] = self.waiting[step.token] = taken
        return True

    def ask(self, token: str) -> None:
        """It could begin now, and needs leave to: whoever has it is taken to have begun, also if its worker dies."""
        holding = self.table[token]
        if not holding.asks:
            holding.asks = True
            self._news.append(holding)

    def begin(self, token: str) -> Step:
        holding = self.table[token]
        assert holding.state == "waiting" and holding.granted
        holding.state = "running"
        del self.waiting[token]
        return holding.step

    def finish(self, token: str, result: StepResult) -> None:
        """Its result is there; the first one counts."""
        holding = self.table.get(token)
        if holding is not None and holding.result is None:
            holding.result, holding.state, holding.sent = result, "done", -inf
            self.waiting.pop(token, None)
            self._news.append(holding)

    def give_back(self, token: str, reason: str) -> None:
        """It will not begin here."""
        holding = self.table[token]
        self.finish(token, unable(holding.step, "returned", reason))

    def forget(self, tokens: Iterable[str]) -> list[str]:
        """Nobody asks for these any more; returns those that were running."""
        running: list[str] = []
        for token in tokens:
            holding = self.table.pop(token, None)
            self.waiting.pop(token, None)
            if holding is not None and holding.state == "running":
                running.append(token)
            self._finished[token] = None
        while len(self._finished) > MAX_REMEMBERED:
            self._finished.popitem(last=False)
        return running

    def say(self, token: str, stream: str, text: str) -> None:
        """A line that the step's handler wrote."""
        holding = self.table.get(token)
        if holding is None or holding.full:
            return
        holding.full = len(holding.lines) >= MAX_LINES
        holding.lines.append(Line("log", "… lines are missing here …") if holding.full else Line(stream, text))

    def logged(self, token: str, next_line: int) -> None:
        """The hub has all lines before this one."""
        holding = self.table.get(token)
        if holding is not None and (count := min(next_line - holding.offset, len(holding.lines))) > 0:
            del holding.lines[:count]
            holding.offset += count
            holding.full, holding.lines_sent = False, -inf


def unable(step: Step, outcome: Outcome, reason: str) -> StepResult:
    """The result of a step whose handler was not asked, or did not answer."""
    status = "failed" if outcome in ("timed_out", "cancelled", "deferred") else "error"
    metadata = ResultMetadata(token=step.token, attempt=step.metadata.attempt, outcome=outcome)
    return StepResult(step_id=step.step_id, status=status, metadata=metadata, error=StepError(reason, outcome))


def unsendable(result: StepResult, kind: str, reason: str) -> StepResult:
    """In place of a result that cannot travel: the same would happen to the next one."""
    metadata = msgspec.structs.replace(result.metadata, retryable=False, outcome=None, deferral=None, chosen=None)
    return StepResult(step_id=result.step_id, status="failed", metadata=metadata, error=StepError(reason, kind))
