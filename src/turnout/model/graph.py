"""Holds the graph of one workflow version: computed once, shared by all of its runs."""

from __future__ import annotations

from collections.abc import Callable

from turnout.model.bindings import tasks_in
from turnout.model.rows import TaskRow
from turnout.model.rules import names_failures, needs_context
from turnout.model.spec import FromTask, TaskSpec, Template, WorkflowSpec
from turnout.model.states import TASK_PENDING


class Graph:
    """A validated spec with positions in place of names."""

    __slots__ = (
        "_taken",
        "children",
        "counted_by",
        "dep_counts",
        "dependents",
        "deps",
        "excuses",
        "full_name",
        "has_limits",
        "hooks",
        "limited",
        "mapped",
        "max_active_steps",
        "output_arguments",
        "piped_into",
        "pipes",
        "plain",
        "position",
        "prioritised",
        "rule_context",
        "run_hooks",
        "run_limits",
        "spec",
        "step_limited",
        "stuck_hooks",
        "task_hooks",
        "tasks",
        "version",
        "waiting",
    )

    def __init__(self, spec: WorkflowSpec, version: str | None = None) -> None:
        self.spec = spec
        self.version = version or spec.version()
        self.full_name = spec.full_name
        self.tasks: tuple[TaskSpec, ...] = spec.tasks
        self.position = {task.name: pos for pos, task in enumerate(spec.tasks)}
        self.deps = tuple(tuple(self.position[name] for name in task.depends_on) for task in spec.tasks)
        followers: list[list[int]] = [[] for _ in spec.tasks]
        for pos, deps in enumerate(self.deps):
            for dep in deps:
                followers[dep].append(pos)
        self.dependents = tuple(tuple(some) for some in followers)
        # A failure is excused by a completed dependent whose rule names it.
        self.excuses = tuple(
            frozenset(self.position[name] for name in names_failures(task.rule)) if task.rule else frozenset[int]()
            for task in spec.tasks
        )
        self.rule_context = frozenset(
            dep
            for pos, task in enumerate(spec.tasks)
            if task.rule and needs_context(task.rule)
            for dep in self.deps[pos]
        )
        """Positions whose outputs a trigger rule reads: the machine keeps them at any size."""
        self.waiting = tuple(
            TaskRow(pos=pos, name=task.name, priority=task.priority, state=TASK_PENDING)
            for pos, task in enumerate(spec.tasks)
        )
        """The rows of a new run, which all runs of this version share until they change."""
        self.dep_counts = tuple(len(deps) for deps in self.deps)
        self._hook_up()
        self.children = frozenset(pos for pos, task in enumerate(spec.tasks) if task.body.kind == "workflow")
        """Positions of tasks that are child runs."""
        self.prioritised = any(task.priority for task in spec.tasks)
        self.run_limits = spec.run_limits
        self.step_limited = any(task.limits for task in spec.tasks)
        self.has_limits = bool(self.run_limits) or self.step_limited
        """True if runs or tasks hold slots of limits."""
        self.max_active_steps = spec.max_active_steps
        self._taken = tuple(self._taken_by(task) for task in spec.tasks)
        self.output_arguments = tuple(self._output_arguments(task) for task in spec.tasks)
        """By task: the tasks whose outputs are its arguments, in order; None if it has others too."""
        self._map_out()
        self.plain = not (
            self.hooks
            or self.mapped
            or self.children
            or self.prioritised
            or self.step_limited
            or self.max_active_steps is not None
            or any(task.rule is not None for task in spec.tasks)
        )
        """True if every task starts, in any order, once its dependencies have completed: what a step of most workflows
        is, and the least that one can cost."""

    def _hook_up(self) -> None:
        hooks = [(pos, task.hook) for pos, task in enumerate(self.tasks) if task.hook is not None]
        self.hooks = frozenset(pos for pos, _ in hooks)
        """Positions of all hooks."""
        self.run_hooks = tuple(pos for pos, hook in hooks if not hook.of)
        self.stuck_hooks = tuple((pos, hook.after) for pos, hook in hooks if hook.on == "stuck")
        """Positions of the hooks that are called if the run has not ended, with the seconds after its submission."""
        of_tasks: dict[int, list[int]] = {}
        for pos, hook in hooks:
            if hook.of:
                of_tasks.setdefault(self.position[hook.of], []).append(pos)
        self.task_hooks = {pos: tuple(some) for pos, some in of_tasks.items()}

    def _map_out(self) -> None:
        maps = {pos: task.map for pos, task in enumerate(self.tasks) if task.map is not None}
        self.mapped = frozenset(maps)
        """Positions of mapped tasks. Their items have rows of their own, after those of the graph."""
        self.limited = any(each.max_parallel is not None for each in maps.values())
        self.pipes = {
            pos: tuple(self.position[name] for name in each.piped) for pos, each in maps.items() if each.piped
        }
        """By mapped task: the mapped tasks whose items are piped into its own, one by one."""
        followers: dict[int, list[int]] = {}
        for pos, sources in self.pipes.items():
            for source in sources:
                followers.setdefault(source, []).append(pos)
        self.piped_into = {source: tuple(some) for source, some in followers.items()}
        counted: dict[int, list[int]] = {}
        for pos in maps:
            for template in lists_of(self.tasks[pos]):
                if isinstance(template, FromTask):
                    source = self.position[template.name]
                    if template.path or source not in self.mapped:
                        counted.setdefault(source, []).append(pos)
        self.counted_by = {source: tuple(some) for source, some in counted.items()}
        """By task: the mapped tasks that count their items in its output."""

    def _taken_by(self, task: TaskSpec) -> tuple[int, ...]:
        if task.hook is not None:
            of = (self.position[task.hook.of],) if task.hook.of and task.hook.takes_outcome else ()
            return tuple(dict.fromkeys((*of, *self._in_templates(task))))
        if task.body.kind == "handler":
            # A handler gets the outputs of all its dependencies, with any arguments.
            return tuple(self.position[name] for name in task.depends_on)
        return self._in_templates(task)

    def _in_templates(self, task: TaskSpec) -> tuple[int, ...]:
        templates = (*task.args, *task.kwargs.values())
        return tuple({self.position[name]: None for template in templates for name in tasks_in(template)})

    def _output_arguments(self, task: TaskSpec) -> tuple[int, ...] | None:
        if task.hook is not None or task.uses_context or task.kwargs or task.body.kind == "handler":
            return None
        named = [arg.name for arg in task.args if isinstance(arg, FromTask) and not arg.path]
        return tuple(self.position[name] for name in named) if len(named) == len(task.args) else None

    def sources(self, pos: int) -> tuple[int, ...]:
        """Returns the tasks whose values this one takes, completed or not; a hook takes its task's outcome."""
        return self._taken[pos]

    def inputs(self, pos: int, completed: Callable[[int], bool]) -> list[int]:
        """Returns the completed tasks whose outputs this task's call needs."""
        if not self.tasks[pos].uses_context:
            return [dep for dep in self._taken[pos] if completed(dep)]
        # In Context style a task that did not complete passes on the context that it would have got.
        found: dict[int, None] = {}
        seen: set[int] = set()
        open_ = list(self.deps[pos])
        while open_:
            dep = open_.pop()
            if dep not in seen:
                seen.add(dep)
                if completed(dep):
                    found[dep] = None
                else:
                    open_.extend(self.deps[dep])
        return list(found)


def lists_of(task: TaskSpec) -> list[Template]:
    """Returns the arguments of a mapped task that are its lists."""
    over = task.map.over if task.map is not None else ()
    return [task.args[which] if isinstance(which, int) else task.kwargs[which] for which in over]
