"""Holds the steps of a worker over all its hubs: a token begins once, and its result stays until it is acknowledged."""

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


class HeldStep(msgspec.Struct, kw_only=True, eq=False, gc=False):
    """One step."""

    step: Step
    batch_id: str
    hub: str
    """The hub that gave it."""
    received_at: float
    state: HeldState = "waiting"
    granted: bool = False
    """May begin: it needs no leave, or has it."""
    start_wanted: bool = False
    """A slot is free for it: leave to begin may be requested."""
    start_sent_at: float = -inf
    result: StepResult | None = None
    result_sent_at: float = -inf
    lines: list[Line] = []
    offset: int = 0
    """How many lines came before these."""
    lines_sent_at: float = -inf
    full: bool = False

    @property
    def token(self) -> str:
        return self.step.token

    @property
    def listed(self) -> Held:
        return Held(self.token, self.state)

    def overdue(self, now: float) -> bool:
        """True if its deadline has passed: its result would not be needed, so it need not begin."""
        deadline = self.step.metadata.deadline_ms
        return deadline is not None and now - self.received_at > deadline / 1000


class HeldSteps:
    """All steps of one worker process."""

    def __init__(self) -> None:
        self.table: dict[str, HeldStep] = {}
        self.waiting: dict[str, HeldStep] = {}
        """Those that have not begun, in the order of their arrival."""
        self._changed: list[HeldStep] = []
        self._finished: OrderedDict[str, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self.table)

    def __iter__(self) -> Iterator[HeldStep]:
        return iter(list(self.table.values()))

    def of(self, hub: str) -> list[HeldStep]:
        return [each for each in self.table.values() if each.hub == hub]

    def take_changed(self) -> list[HeldStep]:
        """Returns and clears the steps that have got a result, or ask for leave to begin, since the last call."""
        changed, self._changed = self._changed, []
        return changed

    def add(self, step: Step, batch_id: str, hub: str, now: float) -> bool:
        """Returns True if the step is new: a token that is here, or was, does not begin again."""
        token = step.metadata.token
        if token in self.table or token in self._finished:
            return False
        granted = not step.metadata.confirm_start
        taken = HeldStep(step=step, batch_id=batch_id, hub=hub, received_at=now, granted=granted, lines=[])
        self.table[token] = self.waiting[token] = taken
        return True

    def request_start(self, token: str) -> None:
        """Called when the step could begin and needs leave. A granted step counts as begun, even if the worker dies."""
        held_step = self.table[token]
        if not held_step.start_wanted:
            held_step.start_wanted = True
            self._changed.append(held_step)

    def begin(self, token: str) -> Step:
        held_step = self.table[token]
        assert held_step.state == "waiting" and held_step.granted
        held_step.state = "running"
        del self.waiting[token]
        return held_step.step

    def finish(self, token: str, result: StepResult) -> None:
        """Records the result; the first one counts."""
        held_step = self.table.get(token)
        if held_step is not None and held_step.result is None:
            held_step.result, held_step.state, held_step.result_sent_at = result, "done", -inf
            self.waiting.pop(token, None)
            self._changed.append(held_step)

    def return_step(self, token: str, reason: str) -> None:
        """Finishes a step that will not begin here."""
        held_step = self.table[token]
        self.finish(token, unable(held_step.step, "returned", reason))

    def forget(self, tokens: Iterable[str]) -> list[str]:
        """Removes steps that no hub asks for any more. Returns those that were running."""
        running: list[str] = []
        for token in tokens:
            held_step = self.table.pop(token, None)
            self.waiting.pop(token, None)
            if held_step is not None and held_step.state == "running":
                running.append(token)
            self._finished[token] = None
        while len(self._finished) > MAX_REMEMBERED:
            self._finished.popitem(last=False)
        return running

    def add_line(self, token: str, stream: str, text: str) -> None:
        """Adds a line that the step's handler wrote."""
        held_step = self.table.get(token)
        if held_step is None or held_step.full:
            return
        held_step.full = len(held_step.lines) >= MAX_LINES
        held_step.lines.append(Line("log", "… lines are missing here …") if held_step.full else Line(stream, text))

    def acknowledge_lines(self, token: str, next_line: int) -> None:
        """Drops the lines before ``next_line``, which the hub has."""
        held_step = self.table.get(token)
        if held_step is not None and (count := min(next_line - held_step.offset, len(held_step.lines))) > 0:
            del held_step.lines[:count]
            held_step.offset += count
            held_step.full, held_step.lines_sent_at = False, -inf


def unable(step: Step, outcome: Outcome, reason: str) -> StepResult:
    """Returns the result of a step whose handler was not called, or did not return."""
    status = "failed" if outcome in ("timed_out", "cancelled", "deferred") else "error"
    metadata = ResultMetadata(token=step.token, attempt=step.metadata.attempt, outcome=outcome)
    return StepResult(step_id=step.step_id, status=status, metadata=metadata, error=StepError(reason, outcome))


def unsendable(result: StepResult, kind: str, reason: str) -> StepResult:
    """Returns the failure that replaces a result that cannot be encoded; a retry would meet the same."""
    metadata = msgspec.structs.replace(result.metadata, retryable=False, outcome=None, deferral=None, chosen=None)
    return StepResult(step_id=result.step_id, status="failed", metadata=metadata, error=StepError(reason, kind))
