"""Finds functions by module and name in another process, and says why one cannot be found there."""

from __future__ import annotations

import importlib
import importlib.util
import runpy
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from turnout.errors import NotImportable
from turnout.runtime.messages import Setting, Where

MAIN, MAIN_ELSEWHERE = "__main__", "__turnout_main__"

_again: list[str] = []

WAY_OUT = "move it to the top level of a module, or run the task in a thread (drop executor='process', or its rule)"


def unlocatable(module: str, qualname: str) -> str | None:
    """Returns why no other process can find a function of this name; None if one can."""
    if "<lambda>" in qualname:
        return f"{qualname} is a lambda, which has no name that another process could find it by: {WAY_OUT}"
    if "<locals>" in qualname:
        outer = qualname.split(".<locals>", maxsplit=1)[0]
        return f"{qualname} is defined inside {outer}(), where another process cannot reach it: {WAY_OUT}"
    if module == MAIN and main_of(sys.modules[MAIN]) == (None, None):
        return (
            f"{qualname} is defined in a notebook or an interactive session, which another process cannot import: "
            f"write it to a module (in a notebook: %%writefile tasks.py) and import it, or run the task in a thread"
        )
    return None


def locate(function: Callable[..., Any]) -> Where:
    """Returns where another process finds this function. Raises NotImportable."""
    module, qualname = _names(function)
    why = unlocatable(module, qualname)
    if why is not None:
        raise NotImportable(why, function=f"{module}:{qualname}")
    home = sys.modules.get(module)
    if home is not None and unwrapped(_walk(home, qualname)) is not unwrapped(function):
        raise NotImportable(
            f"{module}:{qualname} is something else than the function that has this name: {WAY_OUT}",
            function=f"{module}:{qualname}",
        )
    return Where(module, qualname, None if module == MAIN else getattr(home, "__file__", None))


def main_of(main: ModuleType) -> tuple[str | None, str | None]:
    """Returns how the main module can be run again: by its name or by its file; neither for an interactive one."""
    spec = getattr(main, "__spec__", None)
    if spec is not None and spec.name not in (None, MAIN):
        return spec.name, None
    file = getattr(main, "__file__", None)
    return None, file


def runs_main_again() -> bool:
    """True while this process, a child, runs its parent's main module to find a function."""
    return bool(_again)


def found(where: Where, setting: Setting) -> Any:
    """Returns the function, or the task made of it, in this process. Raises NotImportable."""
    module = _main_again(setting) if where.module == MAIN else _module(where)
    target = _walk(module, where.qualname)
    if target is None:
        raise NotImportable(
            f"{where.module} has no {where.qualname} when another process imports it: define it unconditionally, "
            "at the top level",
            function=f"{where.module}:{where.qualname}",
        )
    return target


def unwrapped(target: Any) -> Any:
    """Returns the function of a task; anything else as it is."""
    function = getattr(target, "function", None)
    return function if hasattr(target, "retry_if") and callable(function) else target


def _names(function: Any) -> tuple[str, str]:
    module = getattr(function, "__module__", None)
    qualname = getattr(function, "__qualname__", None)
    if not module or not qualname:
        kind = type(function).__qualname__
        raise NotImportable(f"a {kind} object has no name that another process could find it by: {WAY_OUT}")
    return module, qualname


def _walk(module: ModuleType, qualname: str) -> Any:
    target: Any = module
    for name in qualname.split("."):
        target = getattr(target, name, None)
    return target


def _module(where: Where) -> ModuleType:
    known = sys.modules.get(where.module)
    if known is not None:
        return known
    try:
        return importlib.import_module(where.module)
    except ModuleNotFoundError as error:
        # Loaded from a file under a name that is not on the path; a module that it imports in turn is another matter.
        if where.file is None or error.name is None or not f"{where.module}.".startswith(f"{error.name}."):
            raise
    spec = importlib.util.spec_from_file_location(where.module, where.file)
    if spec is None or spec.loader is None:
        raise NotImportable(f"{where.file} is not a Python module")
    module = sys.modules[where.module] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(where.module, None)
        raise
    return module


def _main_again(setting: Setting) -> ModuleType:
    """Runs the parent's main module under another name, so that what is guarded by ``__name__`` is left out."""
    known = sys.modules.get(MAIN_ELSEWHERE)
    if known is not None:
        return known
    module = ModuleType(MAIN_ELSEWHERE)
    _again.append(MAIN)
    try:
        if setting.main_name is not None:
            content = runpy.run_module(setting.main_name, run_name=MAIN_ELSEWHERE, alter_sys=True)
        else:
            assert setting.main_file is not None
            content = runpy.run_path(setting.main_file, run_name=MAIN_ELSEWHERE)
    finally:
        _again.clear()
    module.__dict__.update(content)
    sys.modules[MAIN] = sys.modules[MAIN_ELSEWHERE] = module
    return module
