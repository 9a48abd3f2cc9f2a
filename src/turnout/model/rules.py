"""Holds trigger rules as values, and evaluates them.

A rule is evaluated once all dependencies of its task have ended. The default rule (``TaskSpec.rule is None``) depends
on the reason of a skip, so it has a function of its own, ``default_rule``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from turnout.model.states import TaskState

Op: TypeAlias = Literal["==", "!=", ">", "<", "contains", "not_contains", "exists", "not_exists"]


class Always(msgspec.Struct, frozen=True, tag="always"):
    """True with any end of the dependencies."""


class All(msgspec.Struct, frozen=True, tag="all"):
    rules: tuple[Rule, ...]


class AnyOf(msgspec.Struct, frozen=True, tag="any"):
    rules: tuple[Rule, ...]


class NoneOf(msgspec.Struct, frozen=True, tag="none"):
    rules: tuple[Rule, ...]


class TaskSuccess(msgspec.Struct, frozen=True, tag="task_success"):
    task: str


class TaskFailed(msgspec.Struct, frozen=True, tag="task_failed"):
    task: str


class TaskSkipped(msgspec.Struct, frozen=True, tag="task_skipped"):
    task: str


class ContextValue(msgspec.Struct, frozen=True, tag="context_value", omit_defaults=True):
    """Compares one key of the merged context with a JSON value.

    A missing key makes ``not_exists``, ``!=`` and ``not_contains`` true and everything else false. Values that
    cannot be compared (``"a" > 1``) make the comparison false. ``true`` and ``1`` are different values, as in JSON.
    """

    key: str
    op: Op
    value: Any = None


Rule: TypeAlias = Always | All | AnyOf | NoneOf | TaskSuccess | TaskFailed | TaskSkipped | ContextValue


def all_(*rules: Rule) -> Rule:
    """Returns a rule that is true if all of these rules are."""
    return All(rules)


def any_(*rules: Rule) -> Rule:
    """Returns a rule that is true if at least one of these rules is."""
    return AnyOf(rules)


def none_(*rules: Rule) -> Rule:
    """Returns a rule that is true if none of these rules is."""
    return NoneOf(rules)


def always() -> Rule:
    """Returns a rule that is always true: the task runs when its dependencies have ended in any state."""
    return Always()


def task_success(task: Any) -> Rule:
    """Returns a rule that is true if the dependency completed. ``task`` is its result, its name or the task."""
    return TaskSuccess(_name(task))


def task_failed(task: Any) -> Rule:
    """Returns a rule that is true if the dependency failed. A task with this rule handles that failure."""
    return TaskFailed(_name(task))


def task_skipped(task: Any) -> Rule:
    """Returns a rule that is true if the dependency was skipped."""
    return TaskSkipped(_name(task))


def context_value(key: str, op: Op = "exists", value: Any = None) -> Rule:
    """Returns a rule that compares ``key`` of the run's input and the dependencies' outputs with ``value``.

    A missing key makes ``not_exists``, ``!=`` and ``not_contains`` true and everything else false.
    """
    return ContextValue(key, op, value)


def evaluate(rule: Rule, states: Mapping[str, TaskState], context: Mapping[str, Any]) -> bool:
    """True if the rule holds for these final states of the tasks that it names and this merged context."""
    match rule:
        case Always():
            return True
        case All(rules):
            return all(evaluate(each, states, context) for each in rules)
        case AnyOf(rules):
            return any(evaluate(each, states, context) for each in rules)
        case NoneOf(rules):
            return not any(evaluate(each, states, context) for each in rules)
        case TaskSuccess(task):
            return states.get(task) is TaskState.COMPLETED
        case TaskFailed(task):
            return states.get(task) is TaskState.FAILED
        case TaskSkipped(task):
            return states.get(task) is TaskState.SKIPPED
        case ContextValue(key, op, value):
            return _compare(key, op, value, context)


Accepted: TypeAlias = Literal["choice", "continue"] | None


def default_rule(dependencies: Iterable[tuple[TaskState, Accepted]]) -> bool:
    """True if all dependencies completed or have an accepted end, and not all of them were skipped by a branch.

    Each dependency is its final state, and how that is accepted if it is not completed: ``"choice"`` for a skip by a
    branch, ``"continue"`` for a failure or skip that ``continue_on`` names, else None. True without dependencies.
    """
    ends = list(dependencies)
    fine = all(state is TaskState.COMPLETED or accepted is not None for state, accepted in ends)
    return fine and (not ends or any(accepted != "choice" for _, accepted in ends))


def names_in(rule: Rule | None) -> frozenset[str]:
    """Returns the tasks that the rule names."""
    return frozenset(leaf.task for leaf in leaves(rule) if isinstance(leaf, TaskSuccess | TaskFailed | TaskSkipped))


def names_failures(rule: Rule | None) -> frozenset[str]:
    """Returns the tasks whose failure the rule names: a completed task with this rule has handled them."""
    return frozenset(leaf.task for leaf in leaves(rule) if isinstance(leaf, TaskFailed))


def needs_context(rule: Rule | None) -> bool:
    """True if the rule reads the context."""
    return any(isinstance(leaf, ContextValue) for leaf in leaves(rule))


def leaves(rule: Rule | None) -> Iterator[Rule]:
    """Yields the rule's parts that are not made of other rules."""
    match rule:
        case None:
            return
        case All(rules) | AnyOf(rules) | NoneOf(rules):
            for each in rules:
                yield from leaves(each)
        case _:
            yield rule


def _name(task: Any) -> str:
    # Placeholders return another placeholder for every plain attribute, so the name has a dunder.
    return task if isinstance(task, str) else task.__task_name__


def _compare(key: str, op: Op, value: Any, context: Mapping[str, Any]) -> bool:
    if key not in context:
        return op in ("not_exists", "!=", "not_contains")
    found = context[key]
    match op:
        case "exists" | "not_exists":
            return op == "exists"
        case "==":
            return _same(found, value)
        case "!=":
            return not _same(found, value)
        case "contains":
            return _contains(found, value)
        case "not_contains":
            return not _contains(found, value)
        case ">":
            return _less(value, found)
        case "<":
            return _less(found, value)


def _same(one: Any, other: Any) -> bool:
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def _contains(whole: Any, part: Any) -> bool:
    match whole:
        case str():
            return isinstance(part, str) and part in whole
        case Mapping():
            return isinstance(part, str) and part in whole
        case Sequence():
            return any(_same(item, part) for item in whole)
        case _:
            return False


def _less(one: Any, other: Any) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return False
    try:
        return bool(one < other)
    except TypeError:
        return False
