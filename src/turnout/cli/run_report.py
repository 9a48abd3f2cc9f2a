"""What does a stored run look like to people, and to programs?"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from turnout.cli.format import MARKS, lasting, moment, one_line
from turnout.cli.log_lines import how_far, spoken
from turnout.cli.output import Line, plain, say, say_columns
from turnout.cli.tree import NO_PROGRESS, lines, nodes
from turnout.contracts.store import LogStore, Store
from turnout.dispatcher.placement import NO_HUB
from turnout.model.driver import NOT_DRIVEN, Driver
from turnout.model.logs import LogLine
from turnout.model.reasons import UNMET
from turnout.model.rows import StoredRun
from turnout.model.spec import WorkflowSpec
from turnout.model.states import RunState, TaskState
from turnout.runner.attempts import AttemptView, attempts_of
from turnout.runner.drivers import driver_of
from turnout.runner.stored_specs import spec_of_version
from turnout.runner.task_detail import stored_result
from turnout.runner.views import SHOWN, RunView, TaskView, run_view, task_view

SHOWN_ATTEMPTS = 200


class RunFacts(msgspec.Struct, frozen=True):
    """A run with its tasks, its input, and whether anybody drives it."""

    view: RunView
    input: Any
    tasks: list[TaskView]
    spec: WorkflowSpec
    driver: Driver
    attempts: list[AttemptView]
    result: Any = None
    """What a completed run returned."""
    lines: Lines | None = None
    """The last lines of each attempt that failed, if they were asked for."""
    progress: Mapping[str, str] = NO_PROGRESS
    """What running tasks and items have last said of how far they are."""

    def as_json(self) -> dict[str, Any]:
        by_task: dict[str, list[dict[str, Any]]] = {}
        for attempt in self.attempts:
            shown = plain(attempt)
            if self.lines is not None:
                shown["lines"] = plain(self.lines.get((attempt.task, attempt.attempt), []))
            by_task.setdefault(attempt.task, []).append(shown)
        tasks = [self._task(task, by_task.get(task.name, [])) for task in self.tasks]
        return {
            **plain(self.view),
            "input": self.input,
            "result": self.result,
            "driven": self.driver is Driver.DRIVEN,
            "driver": str(self.driver),
            "tasks": tasks,
        }

    def _task(self, task: TaskView, attempts: list[dict[str, Any]]) -> dict[str, Any]:
        said = {"progress": how_far(self.progress[task.name])} if task.name in self.progress else {}
        return {**plain(task), **said, "attempts": attempts}

    @property
    def tell_attempts(self) -> bool:
        """Whether the tasks alone do not tell it: others than the orchestrator had some, some had several, or were to
        have had others."""
        return any(one.worker or one.attempt > 1 or NO_HUB in (one.decision or "") for one in self.attempts)


class Move(msgspec.Struct, frozen=True):
    """One row of a run's history; without a task it is the run's own."""

    at: float
    task: str | None
    old: str | None
    new: str
    attempt: int
    detail: Any


def facts(store: Store, stored: StoredRun, *, lines: bool = False) -> RunFacts:
    """What is known of the run; with ``lines``, also what its failed attempts said last."""
    view, rows = run_view(stored), store.tasks(stored.new.run_id, outputs=False)
    attempts = attempts_of(store.history(view.id), rows)
    numbers = {attempt.task: attempt.number for attempt in attempts if attempt.number is not None}
    tasks = [task_view(row) for row in rows]
    return RunFacts(
        view,
        view.input,
        [msgspec.structs.replace(task, begun=numbers.get(task.name, task.begun)) for task in tasks],
        spec_of_version(store, stored.new.version),
        driver_of(store, stored),
        attempts,
        stored_result(store, stored, rows),
        last_lines(store, view.id, attempts) if lines else None,
        NO_PROGRESS if view.state.terminal else store.progress(view.id),
    )


def say_run(known: RunFacts) -> None:
    view = known.view
    mark, style = MARKS[view.state]
    say([(f"{mark} {view.state}", style), (f"  {one_line(view.reason or '')}", "dim")])
    rows: list[tuple[str, str]] = [
        ("run", view.id),
        ("workflow", view.workflow),
        ("input", one_line(msgspec.json.encode(known.input).decode())),
        ("result", one_line(msgspec.json.encode(known.result).decode()) if view.state is RunState.COMPLETED else ""),
        ("submitted", moment(view.created_at)),
        ("took", lasting((view.finished_at or time.time()) - view.created_at)),
        ("key", view.key or ""),
        ("rerun of", view.rerun_of or ""),
        ("", NOT_DRIVEN if known.driver is Driver.NOT_DRIVEN else ""),
    ]
    say_columns([[(f"  {name}", "dim"), (value, "")] for name, value in rows if value])
    say()
    for line in lines(nodes(known.spec, known.tasks, known.progress), time.time()):
        say(line)
    if known.tell_attempts:
        say()
        say_attempts(known.attempts)
    failed = [task for task in known.tasks if task.state is TaskState.FAILED and task.error is not None]
    if known.lines is not None:
        say_failed_attempts(known.attempts, known.lines)
        told = {attempt.task for attempt in known.attempts if attempt.failed}
        failed = [task for task in failed if task.name not in told]
    for task in failed[:SHOWN]:
        _say_error(task)
    if len(failed) > SHOWN:
        say(f"\n… and {len(failed) - SHOWN:,} more tasks that failed")


def say_attempts(attempts: Sequence[AttemptView]) -> None:
    """Where each attempt was, why there, and what became of it; the last of them if there are too many."""
    shown = attempts[-SHOWN_ATTEMPTS:]
    if len(shown) < len(attempts):
        say([(f"… {len(attempts) - len(shown):,} attempts before these", "dim")])
    rows: list[Line] = []
    # Where some never began, the bodies of the others know another number than the one that their lines are kept under.
    differ = any(one.number != one.attempt for one in attempts)
    for one in shown:
        mark, style = MARKS.get(one.outcome or "running", ("↻", "yellow"))
        began: Line = [("–" if one.number is None else f"{one.number}", "dim")] if differ else []
        rows.append(
            [
                (one.task, ""),
                (f"{one.attempt}", "dim"),
                *began,
                (one.executor or "", "dim"),
                (one_line(one.worker or "", 30), ""),
                (one_line(one.decision or "", 60), "dim"),
                (f"{mark} {one.outcome or 'running'}", style),
                (lasting((one.ended_at or time.time()) - one.began_at), ""),
                (one_line(one.error or one.reason or "", 100), "dim"),
            ]
        )
    header = ("task", "attempt", *(["info.attempt"] if differ else []), "executor", "worker", "because of", "outcome")
    say_columns(rows, (*header, "took", ""))


def _say_error(task: TaskView) -> None:
    assert task.error is not None
    say()
    say([(f"✗ {task.name}: {task.error.type}: {task.error.message}", "red")])
    for text in task.error.traceback.rstrip().splitlines():
        say([(f"  {text}", "dim")])


def moves(store: Store, stored: StoredRun) -> list[Move]:
    names = {row.pos: row.name for row in store.tasks(stored.new.run_id, outputs=False)}
    return [
        Move(
            at,
            None if row.pos < 0 else names.get(row.pos, str(row.pos)),
            row.old,
            row.new,
            row.attempt,
            None if row.detail is None else msgspec.json.decode(row.detail),
        )
        for at, row in store.history(stored.new.run_id)
    ]


def say_moves(found: Sequence[Move]) -> None:
    first = found[0].at if found else 0.0
    rows: list[Line] = []
    for move in found:
        mark, style = MARKS.get(move.new, ("", ""))
        attempt = f"attempt {move.attempt}" if move.attempt else ""
        rows.append(
            [
                (f"+{lasting(move.at - first)}", "dim"),
                (move.task or "run", "" if move.task else "bold"),
                (f"{mark} {move.new}", style),
                (attempt, "dim"),
                (_detail(move.detail), "dim"),
            ]
        )
    say_columns(rows)


def _detail(detail: Any) -> str:
    if not isinstance(detail, dict):
        return ""
    return one_line("  ".join(str(value) for name, value in detail.items() if name not in _NOT_IN_A_LINE))


_NOT_IN_A_LINE = frozenset({"status", "traceback", UNMET})


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
