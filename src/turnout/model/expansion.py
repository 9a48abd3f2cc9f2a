"""What does one turn do to mapped tasks: when do they get their items, when may an item start, how does the whole end?

A mapped task runs, held by nobody, from the commit that adds its items until the one in which the last of them ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from turnout.model.bindings import resolve
from turnout.model.choices import by_choice
from turnout.model.events import ErrorInfo, ExecutionResult, ExecutionStatus
from turnout.model.graph import lists_of
from turnout.model.mapping import count_items
from turnout.model.names import task_id
from turnout.model.outputs import Outputs
from turnout.model.reasons import ITEMS_FAILED, LIMIT, because
from turnout.model.rows import TaskRow
from turnout.model.spec import FromParam, FromTask, Mapped, Template
from turnout.model.states import TASK_TERMINAL, RunState, TaskState
from turnout.model.verdict import Verdict

if TYPE_CHECKING:
    from turnout.model.turn import Turn

NAMED = 5
"""How many failed items the reason of the whole names."""


class Expansion(msgspec.Struct, gc=False):
    """What a turn adds to its run. It refers to nothing that refers back to it, as the turn does not either."""

    added: list[TaskRow] = []
    """Rows that this turn adds, as they were before it moved them."""
    opened: dict[int, range] = {}
    """Mapped tasks that get their items in this turn, and where."""
    left: dict[int, int] = {}
    """How many items of a group are open after this turn, where that has changed."""


def _expansion(turn: Turn) -> Expansion:
    if turn.expansion is None:
        turn.expansion = Expansion()
    return turn.expansion


def _mapped(turn: Turn, pos: int) -> Mapped:
    mapped = turn.machine.graph.tasks[pos].map
    assert mapped is not None
    return mapped


def items_in(turn: Turn, pos: int) -> range:
    """Where the items of a mapped task are; empty before it has got any."""
    group = turn.machine.groups.get(pos)
    if group is not None:
        return group.items
    return range(0) if turn.expansion is None else turn.expansion.opened.get(pos, range(0))


# -- items come into being --------------------------------------------------------------------------------------
def open_group(turn: Turn, pos: int) -> None:
    """Pending to running: the mapped task may start, so count its lists and add its items."""
    task, row = turn.machine.graph.tasks[pos], turn.task(pos)
    skipped = _skipped_list(turn, pos) if task.rule is None else None
    if skipped is not None:
        turn.stop(pos, TaskState.SKIPPED, skipped.reason)
        return
    turn.log(pos, TaskState.PENDING, TaskState.READY, 0, None)
    turn.rows[pos] = TaskRow(
        pos=pos,
        name=row.name,
        priority=row.priority,
        state=TaskState.RUNNING,
        attempt=1,
        dispatched_at=turn.now,
        started_at=turn.now,
        seq=turn.log(pos, TaskState.READY, TaskState.RUNNING, 1, because("mapped")),
        was=TaskState.PENDING,
    )
    count = count_items(task, lambda template: _list_of(turn, template), turn.machine.limits.map_items)
    if isinstance(count, ErrorInfo):
        _end(turn, pos, ExecutionStatus.FAILED, Verdict(TaskState.FAILED, failures=1), error=count)
    elif count == 0:
        _end(turn, pos, ExecutionStatus.COMPLETED, Verdict(TaskState.COMPLETED), output="0")
    else:
        _add(turn, pos, row, count)


def _add(turn: Turn, pos: int, row: TaskRow, count: int) -> None:
    expansion, first = _expansion(turn), len(turn.tasks)
    expansion.opened[pos] = range(first, first + count)
    expansion.left[pos] = count
    added = [
        TaskRow(
            pos=first + index,
            name=f"{row.name}[{index}]",
            priority=row.priority,
            state=TaskState.PENDING,
            group=pos,
            index=index,
        )
        for index in range(count)
    ]
    expansion.added += added
    turn.tasks = [*turn.tasks, *added]
    for item in added:
        _judge(turn, item)
    turn.follow(~pos)


def _skipped_list(turn: Turn, pos: int) -> TaskRow | None:
    """The task that a list was to come from and that was skipped by choice: then there is nothing to go through."""
    graph = turn.machine.graph
    for template in lists_of(graph.tasks[pos]):
        if isinstance(template, FromTask):
            row = turn.task(graph.position[template.name])
            if by_choice(row):
                return row
    return None


def try_open(turn: Turn, pos: int) -> None:
    """Open a mapped task that goes through other mapped tasks' items, if those are known and the rest is there."""
    graph = turn.machine.graph
    if turn.task(pos).state is not TaskState.PENDING or pos not in graph.pipes:
        return
    for dep in graph.deps[pos]:
        row = turn.task(dep)
        piped = dep in graph.pipes[pos] and row.state is TaskState.RUNNING
        if not (piped or row.state is TaskState.COMPLETED or by_choice(row)):
            return
    open_group(turn, pos)


def resume_groups(turn: Turn) -> None:
    """Look at everything in pipes that an earlier owner may have left undone."""
    for pos in turn.machine.graph.pipes:
        try_open(turn, pos)
        group = turn.machine.groups.get(pos)
        for each in group.items if group is not None and group.open else ():
            _judge(turn, turn.task(each))


# -- what items take --------------------------------------------------------------------------------------------
def _list_of(turn: Turn, template: Template) -> Any:
    graph = turn.machine.graph
    if isinstance(template, FromTask) and not template.path:
        source = graph.position[template.name]
        if source in graph.mapped and turn.task(source).state in (TaskState.RUNNING, TaskState.COMPLETED):
            return items_in(turn, source)
    params = msgspec.json.decode(turn.machine.new.input) if isinstance(template, FromParam) else {}
    return resolve(template, params, lambda name: value_in(turn, graph.position[name]))


def value_in(turn: Turn, pos: int) -> Any:
    """What a task of the graph has returned; its output is in memory."""
    outputs = Outputs(turn.machine.graph, turn.task, {pos: items_in(turn, pos)})
    texts = {each: turn.task(each).output or "null" for each in outputs.behind(pos)}
    return outputs.value(pos, texts)


# -- an item starts ---------------------------------------------------------------------------------------------
def _judge(turn: Turn, row: TaskRow) -> None:
    """An item that waits for nothing becomes ready; one whose part of a pipe did not complete is skipped."""
    if row.state is not TaskState.PENDING or row.group is None or row.index is None:
        return
    for source in turn.machine.graph.pipes.get(row.group, ()):
        before = turn.task(items_in(turn, source)[row.index])
        if before.state not in TASK_TERMINAL:
            return
        given = before.state is TaskState.FAILED and _mapped(turn, source).return_exceptions
        if before.state is not TaskState.COMPLETED and not given:
            turn.stop(row.pos, TaskState.SKIPPED, f"dependency_{before.state.value}:{before.name}")
            return
    turn.make_ready(row.pos, None if _mapped(turn, row.group).max_parallel is None else LIMIT)


# -- an item ends -----------------------------------------------------------------------------------------------
def follow_in_groups(turn: Turn, pos: int) -> bool:
    """Follow an item that ended, or (``~pos``) a mapped task that has got its items; False for a task that ended."""
    graph = turn.machine.graph
    if pos < 0:
        for follower in graph.piped_into.get(~pos, ()):
            try_open(turn, follower)
    elif pos >= len(graph.tasks):
        row = turn.task(pos)
        assert row.group is not None and row.index is not None
        for follower in graph.piped_into.get(row.group, ()):
            items = items_in(turn, follower)
            if items:
                _judge(turn, turn.task(items[row.index]))
    else:
        return False
    return True


def item_ended(turn: Turn, group: int) -> None:
    """Count down; the last item ends the whole, unless it is not sure yet that all of this turn applies."""
    left = _expansion(turn).left
    known = left.get(group)
    left[group] = (turn.machine.groups[group].open if known is None else known) - 1
    if left[group] == 0 and not turn.contested:
        settle(turn, group)


def settle(turn: Turn, pos: int) -> None:
    """All items have ended: so does the mapped task."""
    if turn.task(pos).state is not TaskState.RUNNING:
        return
    rows = [turn.task(each) for each in items_in(turn, pos)]
    failed = [row for row in rows if row.state is TaskState.FAILED]
    skipped = [row for row in rows if row.state is TaskState.SKIPPED]
    if any(row.state is TaskState.CANCELLED for row in rows):
        reason = turn.run_row.reason if turn.run_row.state is RunState.CANCELLING else "cancelled"
        turn.stop(pos, TaskState.CANCELLED, reason)
    elif failed and not _mapped(turn, pos).return_exceptions:
        said = Verdict(TaskState.FAILED, ITEMS_FAILED, failures=1)
        _end(turn, pos, ExecutionStatus.FAILED, said, error=_said(failed, len(rows)))
    elif skipped:
        # Its own items did nothing wrong: the task that they follow has failed, and that is what counts.
        reason = (skipped[0].reason or "").rpartition("[")[0]
        _end(turn, pos, ExecutionStatus.FAILED, Verdict(TaskState.FAILED, reason))
    else:
        _end(turn, pos, ExecutionStatus.COMPLETED, Verdict(TaskState.COMPLETED), output=str(len(rows)))


def _end(turn: Turn, pos: int, status: ExecutionStatus, said: Verdict, **more: Any) -> None:
    run_id, started = turn.machine.new.run_id, turn.task(pos).started_at
    result = ExecutionResult(
        run_id=run_id, task_id=task_id(run_id, pos), attempt=1, status=status, started_at=started, **more
    )
    turn.end(pos, said.state, result, said)


def _said(failed: Sequence[TaskRow], count: int) -> ErrorInfo:
    names = ", ".join(row.name for row in failed[:NAMED]) + (", …" if len(failed) > NAMED else "")
    first = failed[0].error
    cause = f"; {failed[0].name}: {first.type}: {first.message}" if first is not None else ""
    return ErrorInfo("ItemsFailed", f"{len(failed):,} of {count:,} items failed: {names}{cause}", code=ITEMS_FAILED)
