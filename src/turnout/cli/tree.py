"""The tree of a run: one line for each task, also for a mapped one, and one for each of the first items with progress.

Pure: a graph, the tasks' states and their progress in, lines out. Waiting reasons are put in words, with their code."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from turnout.cli.format import MARKS, format_duration, one_line
from turnout.cli.logs import format_progress, progress_fraction
from turnout.cli.output import Line
from turnout.model.reasons import (
    BREAKER_OPEN,
    CLUSTER_UNAVAILABLE,
    CODE_MISSING,
    DEFERRED,
    HUB_UNAVAILABLE,
    LIMIT,
    NO_CAPACITY,
    NO_WORKER_MATCHES,
    RETRY_AT,
    WAIT_REASONS,
    WAITING_FOR_ITS_WORKER,
    WAITING_FOR_POLLER,
    WAITING_TO_RUN_ALONE,
    WAITING_TO_RUN_ALONE_ON_A_WORKER,
)
from turnout.model.spec import WorkflowSpec
from turnout.model.states import TaskState
from turnout.runner.views import TaskView

TIMED = frozenset({RETRY_AT, DEFERRED})
"""Reasons of tasks that wait for a time."""
_REASON = re.compile(r"(?P<code>\w+)(?:\{(?P<what>.*)\})?(?: handler (?P<handler>.+))?", re.DOTALL)


def format_wait(task: TaskView) -> str:
    """Returns what the task waits for; empty without a reason."""
    if task.reason in (RETRY_AT, DEFERRED):
        return _until_then(task)
    found = _REASON.fullmatch(task.reason or "")
    words = None if found is None else _words(task, found["code"], found["what"] or "", found["handler"])
    return f"{words} ({found['code']})" if found is not None and words else task.reason or ""


def remedies(tasks: Iterable[TaskView]) -> list[str]:
    """Returns what ends the waits of these tasks: one line for each reason, waits for a time left out."""
    codes = dict.fromkeys(reason_code(task) for task in tasks if task.state is TaskState.READY)
    known = {code: WAIT_REASONS[code].remedy for code in codes if code in WAIT_REASONS and code not in TIMED}
    return [f"{code}: {remedy.replace('``', '`')}" for code, remedy in known.items()]


def reason_code(task: TaskView) -> str:
    """Returns the word that the waiting reason begins with."""
    found = re.match(r"\w+", task.reason or "")
    return "" if found is None else found[0]


def _until_then(task: TaskView) -> str:
    what, until = ("deferred", "for") if task.reason == DEFERRED else ("will be retried", "in")
    when = "" if task.retry_in is None else f" {until} {format_duration(task.retry_in)}"
    why = f": {task.error.type}: {task.error.message}" if task.error and task.reason == RETRY_AT else ""
    return f"{what}{when}{why}"


def _words(task: TaskView, code: str, what: str, handler: str | None) -> str | None:
    executor = f" {task.executor}" if task.executor else ""
    match code:
        case c if c == NO_CAPACITY:
            return f"waits for a free slot in executor{executor}" if executor else "waits for a free slot"
        case c if c == WAITING_FOR_POLLER:
            return f"waits for a poller of{executor}" if executor else "waits for a poller"
        case c if c == NO_WORKER_MATCHES:
            wanted = [each for each in (what, f"handler {handler}" if handler else "") if each]
            return f"waits for a worker with {' and '.join(wanted)}" if wanted else "waits for a worker"
        case c if c == WAITING_FOR_ITS_WORKER:
            name, _, labels = what.rpartition("; ")
            return f"stays on worker {name} until its lease ends, then on any with {labels}"
        case c if c == HUB_UNAVAILABLE:
            return "waits for a hub that is up"
        case c if c == BREAKER_OPEN:
            return f"waits for {what or f'executor{executor}'} to recover"
        case c if c == LIMIT:
            return "waits for other items, by max_parallel"
        case _:
            return _PHRASES.get(code)


_PHRASES = {
    WAITING_TO_RUN_ALONE: "waits until it can run alone",
    WAITING_TO_RUN_ALONE_ON_A_WORKER: "waits for a worker of its own",
    CLUSTER_UNAVAILABLE: "waits for its cluster, which cannot be reached",
    CODE_MISSING: "waits for a process that has its code",
}
"""What tasks wait for, where the reason has no more to say."""


_ITEM = re.compile(r"(.+)\[(\d+)\]")
_STATE_ORDER = (TaskState.FAILED, TaskState.RUNNING, TaskState.READY)
_COUNTED = (TaskState.COMPLETED, TaskState.FAILED, TaskState.RUNNING)
_ITEM_STATES = (TaskState.FAILED, TaskState.SKIPPED, TaskState.CANCELLED, TaskState.RUNNING)
MAX_ITEMS = 5
"""Running items of one mapped task that get a line."""


NO_PROGRESS: Mapping[str, str] = {}


class Node(msgspec.Struct):
    """A task in the tree, with the items that it was mapped over."""

    task: TaskView
    guide: str
    """The lines of the tree to the left of the task."""
    items: Counter[TaskState]
    waits_for: list[str]
    progress: str = ""
    """Its progress while it runs."""
    done: float = 0.0
    """Of a mapped task: the number of items done; running items count by their progress."""


def item_of(name: str) -> tuple[str, int] | None:
    """``resize[3]`` is item 3 of ``resize``."""
    found = _ITEM.fullmatch(name)
    return (found[1], int(found[2])) if found else None


def nodes(spec: WorkflowSpec, tasks: Sequence[TaskView], progress: Mapping[str, str] = NO_PROGRESS) -> list[Node]:
    """Returns each task below its dependencies. An only child stays in its parent's column, so chains stay straight.
    ``progress`` has the latest progress of running tasks and items, by name."""
    by_name = {task.name: task for task in tasks}
    items: dict[str, list[TaskView]] = {}
    for task in tasks:
        item = item_of(task.name)
        if item is not None and item[0] in by_name:
            items.setdefault(item[0], []).append(task)
    depends_on = {task.name: [name for name in task.depends_on if name in by_name] for task in spec.tasks}
    found: list[Node] = []
    for name, guide in _walk(_children(depends_on)):
        if name in by_name:
            waits_for = [each for each in depends_on[name] if not by_name[each].state.terminal]
            node = Node(
                by_name[name], guide, Counter(), waits_for, format_progress(progress[name]) if name in progress else ""
            )
            found += [node, *_count(node, items.get(name, ()), progress)]
    return found


def _count(node: Node, items: Sequence[TaskView], progress: Mapping[str, str]) -> list[Node]:
    """Counts the items of the node's task. Returns the nodes of those that get a line."""
    listed: list[Node] = []
    below = node.guide.replace("├─ ", "│  ").replace("└─ ", "   ") + "  "
    for item in items:
        node.items[item.state] += 1
        latest = progress.get(item.name) if item.state is TaskState.RUNNING else None
        node.done += 1.0 if item.state.terminal else 0.0 if latest is None else progress_fraction(latest) or 0.0
        if latest is not None and len(listed) < MAX_ITEMS:
            listed.append(Node(item, below, Counter(), [], format_progress(latest)))
    return listed


def _children(depends_on: Mapping[str, Sequence[str]]) -> dict[str | None, list[str]]:
    """Returns each task under its deepest dependency; under the last of several equally deep ones."""
    depth: dict[str, int] = {}
    order = list(depends_on)
    open_ = list(order)
    while open_:
        later = [name for name in open_ if any(each not in depth for each in depends_on[name])]
        for name in open_:
            if name not in later:
                depth[name] = 1 + max((depth[each] for each in depends_on[name]), default=-1)
        assert len(later) < len(open_), "a validated workflow has no cycle"
        open_ = later
    index = {name: number for number, name in enumerate(order)}
    children: dict[str | None, list[str]] = {}
    for name in order:
        parent = max(depends_on[name], key=lambda each: (depth[each], index[each]), default=None)
        children.setdefault(parent, []).append(name)
    return children


def _walk(children: Mapping[str | None, Sequence[str]]) -> Iterator[tuple[str, str]]:
    stack = [(name, "", "") for name in reversed(children.get(None, []))]
    while stack:
        name, guide, below = stack.pop()
        yield name, guide
        inner = children.get(name, [])
        if len(inner) == 1:
            stack.append((inner[0], below, below))
            continue
        for number, child in reversed(list(enumerate(inner))):
            last = number == len(inner) - 1
            stack.append((child, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  ")))


def lines(found: Sequence[Node], now: float) -> list[Line]:
    """Returns one aligned line for each node."""
    if not found:
        return []
    name_width = max(len(node.guide) + len(node.task.name) for node in found)
    executor_width = max(len(node.task.executor or "") for node in found)
    return [_line(node, now, name_width, executor_width) for node in found]


def _line(node: Node, now: float, name_width: int, executor_width: int) -> Line:
    task = node.task
    mark, style = MARKS[task.state]
    if task.state is TaskState.READY and task.reason in (RETRY_AT, DEFERRED):
        mark = "↻"
    return [
        (node.guide, "dim"),
        (f"{mark} ", style),
        (f"{task.name:<{name_width - len(node.guide)}}  ", "" if task.state is not TaskState.PENDING else "dim"),
        (f"{task.executor or '':<{executor_width}}  ", "dim"),
        (f"{_time(task, now):>7}  ", ""),
        *_note(node),
    ]


def _time(task: TaskView, now: float) -> str:
    begin = task.started_at or task.dispatched_at
    if begin is None or task.state not in (TaskState.RUNNING, TaskState.COMPLETED, TaskState.FAILED):
        return ""
    return format_duration((task.finished_at or now) - begin)


def _note(node: Node) -> Line:
    task = node.task
    spans: Line = _items(node) if node.items else []
    if task.begun > 1:
        spans.append((f"attempt {task.begun}  ", "yellow"))
    if task.state is TaskState.FAILED and task.error is not None:
        spans.append((one_line(f"{task.error.type}: {task.error.message}", 100), "red"))
    elif task.state is TaskState.RUNNING and node.progress:
        spans.append((one_line(node.progress, 100), "cyan"))
    elif task.state is TaskState.READY and task.reason:
        spans.append((one_line(format_wait(task)), "yellow"))
    elif task.state is TaskState.PENDING and node.waits_for:
        spans.append((one_line(f"waits for {', '.join(node.waits_for)}", 80), "dim"))
    elif task.reason and task.state is not TaskState.RUNNING:
        spans.append((one_line(task.reason), "dim"))
    return spans


def _items(node: Node) -> Line:
    """Returns ``9,912/10,000 · 12 failed · 32 running · 99 %`` for a mapped task."""
    total, left = node.items.total(), sum(count for state, count in node.items.items() if not state.terminal)
    spans: Line = [(f"{total - left:,}/{total:,}", "")]
    for state in _ITEM_STATES:
        if node.items.get(state):
            spans += [(" · ", "dim"), (f"{node.items[state]:,} {state}", MARKS[state][1])]
    if left:  # Rounded down: 100 % means that all are done.
        spans += [(" · ", "dim"), (f"{int(100 * node.done / total)} %", "cyan")]
    return [*spans, ("  ", "")]


def count_spans(states: Mapping[TaskState, int]) -> Line:
    """Returns ``✓ 9,900  ✗ 12  ▶ 32  … 56`` for the states of many tasks."""
    spans: Line = []
    for state in (*_COUNTED, TaskState.SKIPPED, TaskState.CANCELLED):
        if states.get(state):
            mark, style = MARKS[state]
            spans.append((f"{mark} {states[state]:,}  ", style))
    waiting = states.get(TaskState.PENDING, 0) + states.get(TaskState.READY, 0)
    if waiting:
        spans.append((f"… {waiting:,}  ", "dim"))
    return spans


def fitting(found: Sequence[Node], room: int) -> tuple[list[Node], list[Node]]:
    """Returns the nodes that fit, by the rank of their state but in the tree's order, and the others."""
    if len(found) <= room:
        return list(found), []
    room = max(room - 1, 1)
    ranked = sorted(range(len(found)), key=lambda at: (_rank(found[at].task.state), at))
    kept = set(ranked[:room])
    return [node for at, node in enumerate(found) if at in kept], [n for at, n in enumerate(found) if at not in kept]


def _rank(state: TaskState) -> int:
    return _STATE_ORDER.index(state) if state in _STATE_ORDER else len(_STATE_ORDER)
