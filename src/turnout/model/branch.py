"""Holds ``Branch``, the value that a body returns to choose which of its dependents run."""

from __future__ import annotations

from typing import Any, Generic, TypeVar, overload

from turnout.errors import InvalidInput

V = TypeVar("V")


class Branch(Generic[V]):
    """Returned by a body: of the tasks that depend on this one, only the named ones run; the others are skipped.

    >>> Branch("ship", "invoice").chosen
    ('ship', 'invoice')

    Tasks may be given instead of their names. ``Branch()`` chooses none. ``value`` is the task's result for those that
    take it, and what a task annotated ``-> Branch[str]`` counts as for type checkers.
    """

    __slots__ = ("chosen", "value")

    @overload
    def __init__(self: Branch[None], *chosen: Any) -> None: ...
    @overload
    def __init__(self, *chosen: Any, value: V) -> None: ...
    def __init__(self, *chosen: Any, value: Any = None) -> None:
        self.chosen: tuple[str, ...] = tuple(dict.fromkeys(_name(each) for each in chosen))
        self.value: V = value

    def __repr__(self) -> str:
        return f"Branch({', '.join(map(repr, self.chosen))})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Branch):
            return False
        return (self.chosen, self.value) == (other.chosen, other.value)

    def __hash__(self) -> int:
        return hash(self.chosen)


def _name(task: Any) -> str:
    name = task if isinstance(task, str) else getattr(task, "__task_name__", getattr(task, "__name__", None))
    if not isinstance(name, str):
        raise InvalidInput(
            f"Branch({task!r}) names no task: give names of tasks, or the tasks themselves", code="bad_branch"
        )
    return name
