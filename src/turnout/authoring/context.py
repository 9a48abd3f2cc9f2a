"""What do tasks of a Context-style workflow share?"""

from __future__ import annotations

from typing import Any


class Context(dict[str, Any]):
    """A JSON object that a task gets, may change, and leaves to the tasks that depend on it.

    Tasks without dependencies get the run's input, others the merge of what their dependencies left. What a task
    leaves is its context after the body, with the keys of the dict that it returned, if it returned one, set over it.
    A parameter annotated ``Context`` receives it, whatever the parameter's name.
    """
