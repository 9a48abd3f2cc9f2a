"""What does one turn do to mapped tasks: when do they get their items, when may an item start, how does the whole end?

A mapped task runs, held by nobody, from the commit that adds its items until the one in which the last of them ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from turnout.model.bindings import resolve
from turnout.model.events import ErrorInfo, ExecutionResult, ExecutionStatus
from turnout.model.graph import lists_of
from turnout.model.mapping import count_items
from turnout.model.names import task_id
from turnout.model.outputs import Outputs
from turnout.model.reasons import ITEMS_FAILED, LIMIT, because, by_choice
from turnout.model.rows import TaskRow
from turnout.model.spec import FromParam, FromTask, Template
from turnout.model.states import TASK_TERMINAL, RunState, TaskState
from turnout.model.verdict import Verdict

if TYPE_CHECKING:
    from turnout.model.turn import Turn

NAMED = 5
"""How many failed items the reason of the whole names."""


class Doors(NamedTuple):
    """What the turn lends: the ways in which it changes a row."""

    end: Callable[[int, TaskState, ExecutionResult | None, Verdict], None]
    follow: Callable[[int], None]
    log: Callable[[int, str, str, int, str | None], int]


class Expansion:
    """The part of a turn that knows about groups; made for runs that have mapped tasks, when it is first needed."""

    __slots__ = ("_doors", "_left", "_turn", "added", "opened")

    def __init__(self, turn: Turn, doors: Doors) -> None:
        self._turn = turn
        self._doors = doors
        self.added: list[TaskRow] = []
        """Rows that this turn adds to the run, as they were before it moved them."""
        self.opened: dict[int, range] = {}
        """Mapped tasks that get their items in this turn, and where."""
        self._left: dict[int, int] = {}
        """How many items of a group are open after this turn, where that has changed."""

    # -- items come into being ----------------------------------------------------------------------------------
    def open(self, pos: int) -> None:
        """Pending to running: the mapped task may start, so count its lists and add its items."""
        turn = self._turn
        task, row = turn.machine.graph.tasks[pos], turn.task(pos)
        self._doors.log(pos, TaskState.PENDING, TaskState.READY, 0, None)
        seq = self._doors.log(pos, TaskState.READY, TaskState.RUNNING, 1, because("mapped"))
        turn.rows[pos] = TaskRow(
            pos=pos,
            name=row.name,
            priority=row.priority,
            state=TaskState.RUNNING,
            attempt=1,
            dispatched_at=turn.now,
            started_at=turn.now,
            seq=seq,
            was=TaskState.PENDING,
        )
        count = count_items(task, self._list_of, turn.machine.limits.map_items)
        if isinstance(count, ErrorInfo):
            self._end(pos, ExecutionStatus.FAILED, Verdict(TaskState.FAILED, failures=1), error=count)
        elif count == 0:
            self._end(pos, ExecutionStatus.COMPLETED, Verdict(TaskState.COMPLETED), output="0")
        else:
            self._add(pos, row, count)

    def _add(self, pos: int, row: TaskRow, count: int) -> None:
        turn = self._turn
        first = len(turn.tasks)
        self.opened[pos] = range(first, first + count)
        self._left[pos] = count
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
        self.added += added
        turn.tasks = [*turn.tasks, *added]
        for item in added:
            self._judge(item)
        self._doors.follow(~pos)

    def try_open(self, pos: int) -> None:
        """Open a mapped task that goes through other mapped tasks' items, if those are known and the rest is there."""
        turn, graph = self._turn, self._turn.machine.graph
        if turn.task(pos).state is not TaskState.PENDING or pos not in graph.pipes:
            return
        for dep in graph.deps[pos]:
            row = turn.task(dep)
            piped = dep in graph.pipes[pos] and row.state is TaskState.RUNNING
            if not (piped or row.state is TaskState.COMPLETED or by_choice(row)):
                return
        if not self.lists_skipped(pos):
            self.open(pos)

    def lists_skipped(self, pos: int) -> bool:
        """Whether a task that a list comes from was skipped by choice: then there is nothing to go through."""
        turn, graph = self._turn, self._turn.machine.graph
        return any(
            by_choice(turn.task(graph.position[template.name]))
            for template in lists_of(graph.tasks[pos])
            if isinstance(template, FromTask)
        )

    def resume(self) -> None:
        """Look at everything that an earlier owner may have left undone."""
        for pos in self._turn.machine.graph.pipes:
            self.try_open(pos)
            group = self._turn.machine.groups.get(pos)
            for each in group.items if group is not None and group.open else ():
                self._judge(self._turn.task(each))

    # -- what an item takes -------------------------------------------------------------------------------------
    def _list_of(self, template: Template) -> Any:
        turn, graph = self._turn, self._turn.machine.graph
        if isinstance(template, FromTask) and not template.path:
            source = graph.position[template.name]
            if source in graph.mapped and turn.task(source).state in (TaskState.RUNNING, TaskState.COMPLETED):
                return self.items(source)
        params = msgspec.json.decode(turn.machine.new.input) if isinstance(template, FromParam) else {}
        return resolve(template, params, lambda name: self.value(graph.position[name]))

    def items(self, pos: int) -> range:
        group = self._turn.machine.groups.get(pos)
        return self.opened.get(pos, range(0)) if group is None else group.items

    def value(self, pos: int) -> Any:
        """What a task of the graph has returned; its output is in memory."""
        turn = self._turn
        items = {pos: self.items(pos)} if pos in turn.machine.graph.mapped else {}
        outputs = Outputs(turn.machine.graph, turn.task, items)
        texts = {each: turn.task(each).output or "null" for each in outputs.behind(pos)}
        return outputs.value(pos, texts)

    # -- an item starts -----------------------------------------------------------------------------------------
    def _judge(self, row: TaskRow) -> None:
        """An item that waits for nothing becomes ready; one whose part of a pipe did not complete is skipped."""
        if row.state is not TaskState.PENDING or row.group is None or row.index is None:
            return
        turn, graph = self._turn, self._turn.machine.graph
        for source in graph.pipes.get(row.group, ()):
            before = turn.task(self.items(source)[row.index])
            if before.state not in TASK_TERMINAL:
                return
            mapped = graph.tasks[source].map
            given = mapped is not None and mapped.return_exceptions and before.state is TaskState.FAILED
            if before.state is not TaskState.COMPLETED and not given:
                reason = f"dependency_{before.state.value}:{before.name}"
                self._doors.end(row.pos, TaskState.SKIPPED, None, Verdict(TaskState.SKIPPED, reason))
                return
        mapped = graph.tasks[row.group].map
        turn.rows[row.pos] = TaskRow(
            pos=row.pos,
            name=row.name,
            priority=row.priority,
            state=TaskState.READY,
            reason=LIMIT if mapped is not None and mapped.max_parallel is not None else None,
            seq=self._doors.log(row.pos, TaskState.PENDING, TaskState.READY, 0, None),
            was=TaskState.PENDING,
            group=row.group,
            index=row.index,
        )

    # -- an item ends -------------------------------------------------------------------------------------------
    def follow_item(self, pos: int) -> None:
        """An item ended: look at the items that follow it in pipes."""
        row = self._turn.task(pos)
        if row.group is None or row.index is None:
            return
        for follower in self._turn.machine.graph.piped_into.get(row.group, ()):
            items = self.items(follower)
            if items:
                self._judge(self._turn.task(items[row.index]))

    def item_ended(self, group: int, *, contested: bool) -> None:
        """Count down; the last item ends the whole, unless it is not sure yet that all of this turn applies."""
        known = self._left.get(group)
        left = (self._turn.machine.groups[group].open if known is None else known) - 1
        self._left[group] = left
        if left == 0 and not contested:
            self.settle(group)

    def settle(self, pos: int) -> None:
        """All items have ended: so does the mapped task."""
        turn, task = self._turn, self._turn.machine.graph.tasks[pos]
        if turn.task(pos).state is not TaskState.RUNNING or task.map is None:
            return
        rows = [turn.task(each) for each in self.items(pos)]
        failed = [] if task.map.return_exceptions else [row for row in rows if row.state is TaskState.FAILED]
        skipped = [row for row in rows if row.state is TaskState.SKIPPED]
        if any(row.state is TaskState.CANCELLED for row in rows):
            reason = turn.run_row.reason if turn.run_row.state is RunState.CANCELLING else "cancelled"
            self._doors.end(pos, TaskState.CANCELLED, None, Verdict(TaskState.CANCELLED, reason))
        elif failed:
            error = _said(failed, len(rows))
            self._end(pos, ExecutionStatus.FAILED, Verdict(TaskState.FAILED, ITEMS_FAILED, failures=1), error=error)
        elif skipped:
            # Its own items did nothing wrong: the task that they follow has failed, and that is what counts.
            reason = (skipped[0].reason or "").rpartition("[")[0]
            self._end(pos, ExecutionStatus.FAILED, Verdict(TaskState.FAILED, reason))
        else:
            self._end(pos, ExecutionStatus.COMPLETED, Verdict(TaskState.COMPLETED), output=str(len(rows)))

    def _end(self, pos: int, status: ExecutionStatus, said: Verdict, **more: Any) -> None:
        turn = self._turn
        run_id, started = turn.machine.new.run_id, turn.task(pos).started_at
        result = ExecutionResult(
            run_id=run_id, task_id=task_id(run_id, pos), attempt=1, status=status, started_at=started, **more
        )
        self._doors.end(pos, said.state, result, said)


def _said(failed: Sequence[TaskRow], count: int) -> ErrorInfo:
    names = ", ".join(row.name for row in failed[:NAMED]) + (", …" if len(failed) > NAMED else "")
    first = failed[0].error
    cause = f"; {failed[0].name}: {first.type}: {first.message}" if first is not None else ""
    return ErrorInfo("ItemsFailed", f"{len(failed):,} of {count:,} items failed: {names}{cause}", code=ITEMS_FAILED)
