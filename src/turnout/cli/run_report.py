"""Reports of a stored run: its facts, tasks, attempts, errors and history, as text and as JSON."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from turnout.cli.format import MARKS, format_count, format_duration, format_time, one_line, short_id
from turnout.cli.logs import format_line, format_progress
from turnout.cli.output import Line, plain, print_line, print_rows
from turnout.cli.tree import NO_PROGRESS, lines, nodes, remedies
from turnout.contracts.store import LogStore, Store
from turnout.dispatcher.placement import NO_HUB
from turnout.model.children import child_run_id
from turnout.model.driver import NOT_DRIVEN, Driver
from turnout.model.logs import LogLine
from turnout.model.names import DELIVERY
from turnout.model.reasons import UNMET
from turnout.model.rows import StoredRun
from turnout.model.slots import HeldLimit
from turnout.model.spec import WorkflowSpec
from turnout.model.states import RunState, TaskState
from turnout.runner.open_runs import driver_of
from turnout.runner.run_reader import spec_of_version
from turnout.runner.stored_values import stored_result
from turnout.runner.views import MAX_SHOWN_FAILURES, AttemptView, RunView, TaskView, attempts_of, run_view, task_view

MAX_ATTEMPTS_LISTED = 200


class RunFacts(msgspec.Struct, frozen=True):
    """A run with its tasks, input, attempts and driver."""

    view: RunView
    input: Any
    tasks: list[TaskView]
    spec: WorkflowSpec
    driver: Driver
    attempts: list[AttemptView]
    result: Any = None
    """What a completed run returned."""
    lines: Lines | None = None
    """The last lines of each failed attempt, if requested."""
    progress: Mapping[str, str] = NO_PROGRESS
    """The latest progress of running tasks and items."""
    limits: Sequence[HeldLimit] = ()
    """Limits that the run and its tasks hold or wait for."""

    def as_json(self) -> dict[str, Any]:
        by_task: dict[str, list[dict[str, Any]]] = {}
        for attempt in self.attempts:
            document = plain(attempt)
            if self.lines is not None:
                document["lines"] = plain(self.lines.get((attempt.task, attempt.attempt), []))
            by_task.setdefault(attempt.task, []).append(document)
        tasks = [self._task(task, by_task.get(task.name, [])) for task in self.tasks]
        return {
            **plain(self.view),
            "input": self.input,
            "result": self.result,
            "driven": self.driver is Driver.DRIVEN,
            "driver": str(self.driver),
            "limits": plain(list(self.limits)),
            "tasks": tasks,
        }

    def _task(self, task: TaskView, attempts: list[dict[str, Any]]) -> dict[str, Any]:
        progress = {"progress": format_progress(self.progress[task.name])} if task.name in self.progress else {}
        return {**plain(task), **progress, "attempts": attempts}

    @property
    def has_attempts_to_show(self) -> bool:
        """True if the list of tasks is not enough: attempts on workers, retries, or tasks that lacked a hub."""
        return any(one.worker or one.attempt > 1 or NO_HUB in (one.decision or "") for one in self.attempts)


class HistoryEntry(msgspec.Struct, frozen=True):
    """One row of a run's history; without a task it is a change of the run."""

    at: float
    task: str | None
    old: str | None
    new: str
    attempt: int
    detail: Any


def read_run(store: Store, stored: StoredRun, *, lines: bool = False) -> RunFacts:
    """Reads the run; with ``lines`` also the last lines of its failed attempts."""
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
        () if view.state.terminal else store.limits_of(view.id),
    )


def print_run(run: RunFacts) -> None:
    view = run.view
    mark, style = MARKS[view.state]
    print_line([(f"{mark} {view.state}", style), (f"  {one_line(view.reason or '')}", "dim")])
    rows: list[tuple[str, str]] = [
        ("run", view.id),
        ("workflow", view.workflow),
        ("input", one_line(msgspec.json.encode(run.input).decode())),
        ("result", one_line(msgspec.json.encode(run.result).decode()) if view.state is RunState.COMPLETED else ""),
        ("submitted", format_time(view.created_at)),
        ("took", format_duration((view.finished_at or time.time()) - view.created_at)),
        ("key", view.key or ""),
        ("rerun of", view.rerun_of or ""),
        ("", NOT_DRIVEN if run.driver is Driver.NOT_DRIVEN else ""),
    ]
    rows += delivery_rows(run)
    rows += [("waits for" if not limit.held else "holds", shown_limit(limit)) for limit in run.limits]
    print_rows([[(f"  {name}", "dim"), (value, "")] for name, value in rows if value])
    print_line()
    for line in lines(nodes(run.spec, run.tasks, run.progress), time.time()):
        print_line(line)
    for remedy in () if view.state.terminal else remedies(run.tasks):
        print_line([(f"  {remedy}", "yellow")])
    if run.has_attempts_to_show:
        print_line()
        print_attempts(run.attempts)
    failed = [task for task in run.tasks if task.state is TaskState.FAILED and task.error is not None]
    if run.lines is not None:
        print_failed_attempts(run.attempts, run.lines)
        reported = {attempt.task for attempt in run.attempts if attempt.failed}
        failed = [task for task in failed if task.name not in reported]
    for task in failed[:MAX_SHOWN_FAILURES]:
        _print_error(task)
    if len(failed) > MAX_SHOWN_FAILURES:
        print_line(f"\n… and {format_count(len(failed) - MAX_SHOWN_FAILURES, 'more task')} that failed")


def delivery_rows(run: RunFacts) -> list[tuple[str, str]]:
    """Returns the runs that deliver the notifications of a run; of such a run, what it sends and where."""
    if run.spec.name == DELIVERY and "." in run.spec.package:
        return [("sends", task.body.ref) for task in run.spec.tasks]
    return [
        ("delivery", f"{child_run_id(run.view.id, pos, task.attempt)} by {task.name}")
        for pos, (task, spec) in enumerate(zip(run.tasks, run.spec.tasks, strict=False))
        if spec.body.detached and task.state is TaskState.COMPLETED
    ]


def shown_limit(limit: HeldLimit) -> str:
    """Returns a limit of a run as one line.

    >>> shown_limit(HeldLimit(name="customer-17", task="charge", held=False, position=3))
    'limit customer-17 for charge, position 3'
    """
    of = "" if limit.task is None else f" for {limit.task}"
    shared = "" if limit.shared_with is None else f", shared with run {short_id(limit.shared_with)}"
    position = "" if limit.position is None else f", position {limit.position:,}"
    return one_line(f"limit {limit.name}{of}") + shared + position + shown_deadlock(limit.deadlocked_with)


def shown_deadlock(runs: Sequence[str]) -> str:
    """Returns what is to be known of a wait that does not end by itself; empty if it does."""
    if not runs:
        return ""
    named = " or ".join(short_id(run_id) for run_id in runs[:3])
    return f", deadlock: its holders wait for one another, cancel {named}"


def print_attempts(attempts: Sequence[AttemptView]) -> None:
    """Prints executor, decision and outcome of each attempt; only the last if there are too many."""
    listed = attempts[-MAX_ATTEMPTS_LISTED:]
    if len(listed) < len(attempts):
        print_line([(f"… {format_count(len(attempts) - len(listed), 'attempt')} before these", "dim")])
    rows: list[Line] = []
    # If some attempts never began, the numbers in the bodies differ from those under which lines are stored.
    differ = any(one.number != one.attempt for one in attempts)
    for one in listed:
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
                (format_duration((one.ended_at or time.time()) - one.began_at), ""),
                (one_line(one.error or one.reason or "", 100), "dim"),
            ]
        )
    header = ("task", "attempt", *(["info.attempt"] if differ else []), "executor", "worker", "because of", "outcome")
    print_rows(rows, (*header, "took", ""))


def _print_error(task: TaskView) -> None:
    assert task.error is not None
    print_line()
    print_line([(f"✗ {task.name}: {task.error.type}: {task.error.message}", "red")])
    for text in task.error.traceback.rstrip().splitlines():
        print_line([(f"  {text}", "dim")])


def read_history(store: Store, stored: StoredRun) -> list[HistoryEntry]:
    names = {row.pos: row.name for row in store.tasks(stored.new.run_id, outputs=False)}
    return [
        HistoryEntry(
            at,
            None if row.pos < 0 else names.get(row.pos, str(row.pos)),
            row.old,
            row.new,
            row.attempt,
            None if row.detail is None else msgspec.json.decode(row.detail),
        )
        for at, row in store.history(stored.new.run_id)
    ]


def print_history(found: Sequence[HistoryEntry]) -> None:
    first = found[0].at if found else 0.0
    rows: list[Line] = []
    for entry in found:
        mark, style = MARKS.get(entry.new, ("", ""))
        attempt = f"attempt {entry.attempt}" if entry.attempt else ""
        rows.append(
            [
                (f"+{format_duration(entry.at - first)}", "dim"),
                (entry.task or "run", "" if entry.task else "bold"),
                (f"{mark} {entry.new}", style),
                (attempt, "dim"),
                (_detail(entry.detail), "dim"),
            ]
        )
    print_rows(rows)


def _detail(detail: Any) -> str:
    if not isinstance(detail, dict):
        return ""
    return one_line("  ".join(str(value) for name, value in detail.items() if name not in _HIDDEN_DETAILS))


_HIDDEN_DETAILS = frozenset({"status", "traceback", UNMET})


Lines: TypeAlias = Mapping[tuple[str, int], Sequence[LogLine]]
"""By task and attempt."""

MAX_ATTEMPTS = 50
"""Failed attempts, from the last, that are shown with their errors."""
MAX_LINES = 20
"""Lines of an attempt, from the last, that are shown; ``turnout logs RUN TASK --attempt N`` has all."""
PAGE = 1_000


def last_lines(store: LogStore, run_id: str, attempts: Sequence[AttemptView]) -> Lines:
    """Reads the last lines of the newest failed attempts."""
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


def print_failed_attempts(attempts: Sequence[AttemptView], lines: Lines) -> None:
    """Prints the error of each failed attempt, with its traceback and last lines."""
    failed = [attempt for attempt in attempts if attempt.failed]
    if len(failed) > MAX_ATTEMPTS:
        print_line([(f"\n… {len(failed) - MAX_ATTEMPTS:,} failed attempts before these", "dim")])
    for one in failed[-MAX_ATTEMPTS:]:
        print_line()
        print_line([(f"✗ {one.task} attempt {one.attempt}: {one.error_type}: {one.message}", "red")])
        for text in (one.traceback or "").rstrip().splitlines():
            print_line([(f"  {text}", "dim")])
        for line in lines.get((one.task, one.attempt), ()):
            print_line([("  ", ""), *format_line(line.task, line.stream, line.text, attempt=line.attempt)])
