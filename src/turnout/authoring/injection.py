"""Holds ``Context``, and ``injected()``, the default of parameters that a run fills."""

from __future__ import annotations

from typing import Any, NoReturn

from turnout.errors import NotInjected


class Context(dict[str, Any]):
    """A JSON object that a task gets, may change, and passes on to the tasks that depend on it.

    Tasks without dependencies get the run's input, others the merge of what their dependencies left. What a task
    leaves is its context after the body, with the keys of the dict that it returned, if it returned one, set over it.
    A parameter annotated ``Context`` receives it, whatever the parameter's name.
    """


class Injected:
    """The placeholder of the value until an attempt begins. A body that uses it outside of a run gets NotInjected."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "injected()"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise _missing()

    def __getitem__(self, key: Any) -> NoReturn:
        raise _missing()

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise _missing()

    def __contains__(self, key: Any) -> NoReturn:
        raise _missing()

    def __iter__(self) -> NoReturn:
        raise _missing()

    def __len__(self) -> NoReturn:
        raise _missing()


INJECTED = Injected()


def injected() -> Any:
    """The default of a parameter annotated ``TaskInfo`` or ``Context``: each attempt of the task fills it.

    >>> from turnout import TaskInfo, task
    >>> @task
    ... def fetch(url: str, info: TaskInfo = injected()) -> str:
    ...     return f"{url}, attempt {info.attempt}"
    """
    return INJECTED


def _missing() -> NotInjected:
    return NotInjected(
        "a parameter with the default injected() is filled in a run only: outside of one, give the function a TaskInfo "
        "or a Context yourself, or use turnout.testing.run_inline"
    )
