"""How does a task say which of its dependents run? The value that its body returns."""

from __future__ import annotations

from typing import Any

from turnout.errors import InvalidInput


class Branch:
    """Returned by a body: of the tasks that depend on this one, only the named ones run; the others are skipped.

    >>> Branch("ship", "invoice").chosen
    ('ship', 'invoice')

    Tasks may be given instead of their names. ``Branch()`` chooses none. ``value`` is the task's result for those that
    take it.
    """

    __slots__ = ("chosen", "value")

    def __init__(self, *chosen: Any, value: Any = None) -> None:
        self.chosen: tuple[str, ...] = tuple(dict.fromkeys(_name(each) for each in chosen))
        self.value = value

    def __repr__(self) -> str:
        return f"Branch({', '.join(map(repr, self.chosen))})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Branch) and (self.chosen, self.value) == (other.chosen, other.value)

    def __hash__(self) -> int:
        return hash(self.chosen)


def _name(task: Any) -> str:
    name = task if isinstance(task, str) else getattr(task, "__task_name__", getattr(task, "__name__", None))
    if not isinstance(name, str):
        raise InvalidInput(
            f"Branch({task!r}) names no task: give names of tasks, or the tasks themselves", code="bad_branch"
        )
    return name
