"""The attempts of a run that failed: the error of each, and the last lines that it printed and logged."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from turnout.cli.output import say
from turnout.cli.saying import spoken
from turnout.contracts.store import LogStore
from turnout.model.logs import LogLine
from turnout.runner.attempts import AttemptView

Lines: TypeAlias = Mapping[tuple[str, int], Sequence[LogLine]]
"""By task and attempt."""

MAX_ATTEMPTS = 50
"""How many failed attempts are shown with their errors, from the last."""
MAX_LINES = 20
"""Lines of an attempt that are shown, from its last; ``turnout logs RUN TASK --attempt N`` has all."""
PAGE = 1_000


def last_lines(store: LogStore, run_id: str, attempts: Sequence[AttemptView]) -> Lines:
    """What the newest failed attempts said last."""
    failed = [attempt for attempt in attempts if attempt.failed][-MAX_ATTEMPTS:]
    return {(one.task, one.attempt): _last_lines(store, run_id, one) for one in failed}


def _last_lines(store: LogStore, run_id: str, attempt: AttemptView) -> list[LogLine]:
    kept: deque[LogLine] = deque(maxlen=MAX_LINES)
    after = 0
    while page := store.logs(run_id, task=attempt.task, attempt=attempt.attempt, after=after, limit=PAGE):
        # The name of a mapped task stands for all its items.
        kept.extend(line for line in page if line.task == attempt.task)
        after = page[-1].id
    return list(kept)


def say_failed_attempts(attempts: Sequence[AttemptView], lines: Lines) -> None:
    """The error of each failed attempt, with its traceback, and its last lines."""
    failed = [attempt for attempt in attempts if attempt.failed]
    if len(failed) > MAX_ATTEMPTS:
        say([(f"\n… {len(failed) - MAX_ATTEMPTS:,} failed attempts before these", "dim")])
    for one in failed[-MAX_ATTEMPTS:]:
        say()
        say([(f"✗ {one.task} attempt {one.attempt}: {one.error_type}: {one.message}", "red")])
        for text in (one.traceback or "").rstrip().splitlines():
            say([(f"  {text}", "dim")])
        for line in lines.get((one.task, one.attempt), ()):
            say([("  ", ""), *spoken(line.task, line.stream, line.text, attempt=line.attempt)])
