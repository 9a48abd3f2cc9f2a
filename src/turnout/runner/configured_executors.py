"""How does ``[executors.printers] use = "thread"`` become an executor?"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from turnout.contracts.executor import TaskExecutor
from turnout.errors import InvalidSetting, TurnoutError
from turnout.model.suggestions import close

BUILT_IN = {
    "process": "turnout.executors.process:ProcessExecutor",
    "shell": "turnout.executors.shell:ShellExecutor",
    "thread": "turnout.executors.thread:ThreadExecutor",
    "zmq_pubsub": "turnout.executors.pubsub.executor:ZmqPubSubExecutor.of",
}
"""Short names of the executors that come with Turnout."""


def make_executor(key: str, options: Mapping[str, Any], where: str) -> TaskExecutor:
    """The executor that the table ``executors.KEY`` describes."""
    at = f"{where}: executors.{key}"
    use = options.get("use")
    if use is None:
        raise InvalidSetting(
            f'{at} has no `use`: write a short name ({", ".join(sorted(BUILT_IN))}) or "module:Class"',
            code="bad_executor",
            key=key,
        )
    factory = _found(use, at)
    given = {name: value for name, value in options.items() if name != "use"}
    named = _with_name(factory, key, given, at)
    try:
        made = factory(**named)
    except TurnoutError as error:
        raise InvalidSetting(f"{at}: {error.message}", code="bad_executor", key=key) from error
    except Exception as error:
        raise InvalidSetting(
            f"{at}: {use} could not be made: {type(error).__name__}: {error}", code="bad_executor", key=key
        ) from error
    if not isinstance(made, TaskExecutor):
        raise InvalidSetting(
            f"{at}: {use} gives {type(made).__name__}, which is no task executor", code="bad_executor", key=key
        )
    return made


def _found(use: str, at: str) -> Callable[..., Any]:
    path = BUILT_IN.get(use, use)
    module, colon, name = path.partition(":")
    if not colon:
        raise InvalidSetting(
            f'{at}: there is no executor {use!r}{close(use, BUILT_IN)}; your own is "module:Class"', code="bad_executor"
        )
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except Exception as error:
        raise InvalidSetting(
            f"{at}: {use} cannot be imported: {type(error).__name__}: {error}", code="bad_executor"
        ) from error
    if not callable(found):
        raise InvalidSetting(f"{at}: {use} is no class and no function", code="bad_executor")
    return found


def _with_name(factory: Callable[..., Any], key: str, given: dict[str, Any], at: str) -> dict[str, Any]:
    """The options, with the key as the executor's name where it takes one; refuses options that it does not have."""
    try:
        parameters = inspect.signature(factory).parameters
    except ValueError:
        return given
    free = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values())
    for name in given:
        if name not in parameters and not free:
            raise InvalidSetting(
                f"{at} has no option {name!r}{close(name, parameters)}", code="unknown_setting", key=f"{key}.{name}"
            )
    return {"name": key, **given} if "name" in parameters else given
