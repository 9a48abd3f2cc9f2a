"""Decides when mapped tasks get their items, when an item may start, and how a mapped task ends.

A mapped task runs, without a holder, from the commit that adds its items until the one in which the last of them ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec

from turnout.model.bindings import resolve
from turnout.model.branches import skipped_by_choice, skipped_by_precondition
from turnout.model.events import ErrorInfo, ExecutionResult, ExecutionStatus
from turnout.model.graph import lists_of
from turnout.model.groups import startable, takes_slot
from turnout.model.mapping import Outputs, count_items
from turnout.model.moves import AddItems, End, MakeReady, Move, RunView, StartGroup, Stop
from turnout.model.names import task_id
from turnout.model.reasons import ITEMS_FAILED, LIMIT
from turnout.model.rows import TaskRow
from turnout.model.spec import FromParam, FromTask, Mapped, Template
from turnout.model.states import TASK_TERMINAL, RunState, TaskState
from turnout.model.verdict import Verdict

MAX_NAMED_ITEMS = 5
"""Failed items that the error of a mapped task names."""


def _mapped(view: RunView, pos: int) -> Mapped:
    mapped = view.machine.graph.tasks[pos].map
    assert mapped is not None
    return mapped


# -- items are added --------------------------------------------------------------------------------------------
def open_group(view: RunView, pos: int) -> Iterator[Move]:
    """Moves a mapped task that may start from pending to running: counts its lists and adds its items."""
    task = view.machine.graph.tasks[pos]
    skipped = _skipped_list(view, pos) if task.rule is None else None
    if skipped is not None:
        yield Stop(pos, TaskState.SKIPPED, skipped.reason)
        return
    yield StartGroup(pos)
    count = count_items(task, lambda template: _list_of(view, template), view.machine.limits.map_items)
    if isinstance(count, ErrorInfo):
        yield _end(view, pos, ExecutionStatus.FAILED, Verdict(TaskState.FAILED, failures=1), error=count)
    elif count == 0:
        yield _end(view, pos, ExecutionStatus.COMPLETED, Verdict(TaskState.COMPLETED), output="0")
    else:
        yield AddItems(pos, count)


def items_of_group(pos: int, mapped: TaskRow, first: int, count: int) -> list[TaskRow]:
    """Returns the rows of the items of a mapped task; ``first`` is the position of the first one."""
    return [
        TaskRow(
            pos=first + index,
            name=f"{mapped.name}[{index}]",
            priority=mapped.priority,
            state=TaskState.PENDING,
            group=pos,
            index=index,
        )
        for index in range(count)
    ]


def _skipped_list(view: RunView, pos: int) -> TaskRow | None:
    """Returns a task that was to return one of the lists and was skipped by choice; None if there is none."""
    graph = view.machine.graph
    for template in lists_of(graph.tasks[pos]):
        if isinstance(template, FromTask):
            row = view.task(graph.position[template.name])
            if skipped_by_choice(row):
                return row
    return None


def open_piped_group(view: RunView, pos: int) -> Iterator[Move]:
    """Opens a mapped task that is piped from other mapped tasks, once their items are known and the other dependencies
    have ended."""
    graph = view.machine.graph
    if view.task(pos).state is not TaskState.PENDING or pos not in graph.pipes:
        return
    for dep in graph.deps[pos]:
        row = view.task(dep)
        piped = dep in graph.pipes[pos] and row.state is TaskState.RUNNING
        if not (piped or row.state is TaskState.COMPLETED or skipped_by_choice(row)):
            return
    yield from open_group(view, pos)


def resume_groups(view: RunView) -> Iterator[Move]:
    """Opens groups and evaluates items in pipes that an earlier owner may not have advanced."""
    for pos in view.machine.graph.pipes:
        yield from open_piped_group(view, pos)
        group = view.machine.groups.get(pos)
        for each in group.items if group is not None and group.open else ():
            yield from evaluate_item(view, view.task(each))


# -- input of items ---------------------------------------------------------------------------------------------
def _list_of(view: RunView, template: Template) -> Any:
    graph = view.machine.graph
    if isinstance(template, FromTask) and not template.path:
        source = graph.position[template.name]
        if source in graph.mapped and view.task(source).state in (TaskState.RUNNING, TaskState.COMPLETED):
            return view.items_in(source)
    params = msgspec.json.decode(view.machine.new.input) if isinstance(template, FromParam) else {}
    return resolve(template, params, lambda name: value_in(view, graph.position[name]))


def value_in(view: RunView, pos: int) -> Any:
    """Returns the value that a task of the graph has returned; its output is in memory."""
    outputs = Outputs(view.machine.graph, view.task, {pos: view.items_in(pos)})
    texts = {each: view.task(each).output or "null" for each in outputs.behind(pos)}
    return outputs.value(pos, texts)


# -- an item starts ---------------------------------------------------------------------------------------------
def evaluate_item(view: RunView, row: TaskRow) -> Iterator[Move]:
    """Makes an item ready that waits for nothing; skips it if the item that is piped into it did not complete."""
    if row.state is not TaskState.PENDING or row.group is None or row.index is None:
        return
    for source in view.machine.graph.pipes.get(row.group, ()):
        before = view.task(view.items_in(source)[row.index])
        if before.state not in TASK_TERMINAL:
            return
        given = before.state is TaskState.FAILED and _mapped(view, source).return_exceptions
        if before.state is not TaskState.COMPLETED and not given:
            yield Stop(row.pos, TaskState.SKIPPED, f"dependency_{before.state.value}:{before.name}")
            return
    yield MakeReady(row.pos, None if _mapped(view, row.group).max_parallel is None else LIMIT)


# -- an item ends -----------------------------------------------------------------------------------------------
def advance_groups(view: RunView, pos: int) -> Iterator[Move]:
    """Advances the mapped tasks that are piped from an item that ended, or (``~pos``) from a mapped task that got its
    items."""
    graph = view.machine.graph
    if pos < 0:
        for follower in graph.piped_into.get(~pos, ()):
            yield from open_piped_group(view, follower)
        return
    row = view.task(pos)
    assert row.group is not None and row.index is not None
    for follower in graph.piped_into.get(row.group, ()):
        items = view.items_in(follower)
        if items:
            yield from evaluate_item(view, view.task(items[row.index]))


def finish_group(view: RunView, pos: int) -> Iterator[Move]:
    """Ends a mapped task whose items have all ended."""
    if view.task(pos).state is not TaskState.RUNNING:
        return
    rows = [view.task(each) for each in view.items_in(pos)]
    failed = [row for row in rows if row.state is TaskState.FAILED]
    skipped = [row for row in rows if row.state is TaskState.SKIPPED]
    if any(row.state is TaskState.CANCELLED for row in rows):
        reason = view.run_row.reason if view.run_row.state is RunState.CANCELLING else "cancelled"
        yield Stop(pos, TaskState.CANCELLED, reason)
    elif failed and not _mapped(view, pos).return_exceptions:
        outcome = Verdict(TaskState.FAILED, ITEMS_FAILED, failures=1)
        yield _end(view, pos, ExecutionStatus.FAILED, outcome, error=_items_error(failed, len(rows)))
    elif rows and len(skipped) == len(rows) and all(skipped_by_precondition(row) for row in skipped):
        yield Stop(pos, TaskState.SKIPPED, skipped[0].reason)
    elif any(not skipped_by_precondition(row) for row in skipped):
        # Its own items did not fail: the reason is that of the mapped task which is piped into it and failed.
        piped = next(row for row in skipped if not skipped_by_precondition(row))
        reason = (piped.reason or "").rpartition("[")[0]
        yield _end(view, pos, ExecutionStatus.FAILED, Verdict(TaskState.FAILED, reason))
    else:
        yield _end(view, pos, ExecutionStatus.COMPLETED, Verdict(TaskState.COMPLETED), output=str(len(rows)))


def _end(view: RunView, pos: int, status: ExecutionStatus, outcome: Verdict, **more: Any) -> End:
    run_id, started = view.machine.new.run_id, view.task(pos).started_at
    result = ExecutionResult(
        run_id=run_id, task_id=task_id(run_id, pos), attempt=1, status=status, started_at=started, **more
    )
    return End(pos, result, outcome)


def _items_error(failed: Sequence[TaskRow], count: int) -> ErrorInfo:
    names = ", ".join(row.name for row in failed[:MAX_NAMED_ITEMS]) + (", …" if len(failed) > MAX_NAMED_ITEMS else "")
    first = failed[0].error
    cause = f"; {failed[0].name}: {first.type}: {first.message}" if first is not None else ""
    return ErrorInfo("ItemsFailed", f"{len(failed):,} of {count:,} items failed: {names}{cause}", code=ITEMS_FAILED)


def ready_within_limits(view: RunView) -> Iterator[int]:
    """Yields ready tasks, oldest first; of a limited group as many as it has free slots after this transition."""
    machine, room = view.machine, _room(view)
    # No more held items than could get a slot, also where this transition itself moves some of them.
    held = [
        pos
        for which, group in machine.groups.items()
        for pos in islice(group.held, max(0, room.get(which, 0)) + len(view.rows))
    ]
    new = [pos for pos in view.rows if pos not in machine.ready]
    for pos in dict.fromkeys([*machine.ready, *held, *new]):
        row = view.task(pos)
        if startable(row):
            if row.group in room:
                if room[row.group] <= 0:
                    continue
                room[row.group] -= 1
            yield pos


def steps_within_limit(view: RunView, ready: Iterable[int]) -> list[int]:
    """Returns as many of these ready tasks as ``max_active_steps`` of the run allows, the highest priority first."""
    machine = view.machine
    assert machine.graph.max_active_steps is not None
    mapped = machine.graph.mapped
    busy = machine.busy + sum(
        takes_slot(row) - takes_slot(view.tasks[pos]) for pos, row in view.rows.items() if pos not in mapped
    )
    ranked = sorted(ready, key=lambda pos: -view.task(pos).priority)
    return ranked[: max(0, machine.graph.max_active_steps - busy)]


def offerable_within_limits(view: RunView) -> Iterator[int]:
    """Yields the tasks to offer to pollers. A task whose delay is not over may be offered too, and takes its slot."""
    waiting = [pos for pos in view.made_ready() if view.task(pos).retry_in]
    yield from waiting
    # The tasks just offered take slots, so the others are chosen only now.
    yield from list(ready_within_limits(view))


def _room(view: RunView) -> dict[int | None, int]:
    """Returns the free slots of each limited group, after the changes of this transition."""
    machine = view.machine
    room: dict[int | None, int] = {}
    for pos in machine.graph.mapped:
        mapped = machine.graph.tasks[pos].map
        if mapped is not None and mapped.max_parallel is not None:
            room[pos] = mapped.max_parallel - (machine.groups[pos].busy if pos in machine.groups else 0)
    for pos, row in view.rows.items():
        if row.group in room:
            room[row.group] -= takes_slot(row) - takes_slot(view.tasks[pos])
    return room
