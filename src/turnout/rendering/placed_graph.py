"""Places the tasks of a workflow for a picture, and remembers the pictures of the versions that were asked for last."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from turnout.model.spec import TaskSpec
from turnout.rendering.layout import Layout, layout

MAX_REMEMBERED = 256
"""Layouts; the ones that were not asked for longest are dropped."""


def placed(tasks: Sequence[TaskSpec]) -> Layout:
    """Returns the layout of these tasks. Tasks with the same names and dependencies have the same one."""
    names = {task.name for task in tasks}
    return _placed(tuple((task.name, tuple(each for each in task.depends_on if each in names)) for task in tasks))


@lru_cache(maxsize=MAX_REMEMBERED)
def _placed(depends_on: tuple[tuple[str, tuple[str, ...]], ...]) -> Layout:
    return layout(dict(depends_on))
