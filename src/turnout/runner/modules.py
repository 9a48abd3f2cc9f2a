"""Imports modules by their names and by their files, and loads files again.

A Python file is imported under the name that it would have as a module, so that other processes can import its
functions by it.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from turnout.errors import InvalidTarget, TurnoutError


def load_module(place: str, search: Iterable[Path] = ()) -> ModuleType:
    """Returns the module of that name, or of that file."""
    if place.endswith(".py") or "/" in place:
        return _from_file(Path(place), search)
    for folder in (*search, Path.cwd()):
        search_in(folder)
    try:
        return importlib.import_module(place)
    except ModuleNotFoundError as error:
        if error.name is not None and (place == error.name or place.startswith(f"{error.name}.")):
            raise InvalidTarget(
                f"there is no module {place!r} in {Path.cwd()} or on the module search path",
                code="no_such_module",
                target=place,
            ) from None
        raise _import_failed(place, error) from error
    except (Exception, SystemExit) as error:
        raise _import_failed(place, error) from error


def _from_file(path: Path, search: Iterable[Path]) -> ModuleType:
    """Returns the module of a file, which is looked for in the working directory and then in these folders."""
    file = next((each for folder in (Path.cwd(), *search) if (each := (folder / path).resolve()).is_file()), None)
    if file is None:
        raise InvalidTarget(f"there is no file {str(path)!r}", code="no_such_file", target=str(path))
    root, parts = file.parent, [file.stem]
    while (root / "__init__.py").is_file():
        parts.insert(0, root.name)
        root = root.parent
    name = ".".join(parts)
    known = sys.modules.get(name)
    if known is not None and getattr(known, "__file__", None) == str(file):
        return known
    if known is not None or parts[0] in sys.stdlib_module_names:
        name = f"turnout_file_{file.stem}"
        known = sys.modules.get(name)
        if known is not None and getattr(known, "__file__", None) == str(file):
            return known
    search_in(root)
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise InvalidTarget(f"{str(path)!r} is no Python file", code="no_such_file", target=str(path))
    if len(parts) > 1 and name == ".".join(parts):
        importlib.import_module(".".join(parts[:-1]))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise _import_failed(str(path), error) from error
    return module


def reload_file(path: Path) -> ModuleType:
    """Loads a file again, as a new module in place of the one that it made. If that fails, the old one stays."""
    file = path.resolve()
    former = {name: each for name, each in sys.modules.items() if getattr(each, "__file__", None) == str(file)}
    for name in former:
        del sys.modules[name]
    # Cached bytecode is compared by whole seconds and size, and two changes may come within one second.
    Path(importlib.util.cache_from_source(str(file))).unlink(missing_ok=True)
    try:
        return _from_file(file, ())
    except BaseException:
        sys.modules.update(former)
        raise


def search_in(folder: Path) -> None:
    """Makes modules in the folder importable, for code that a target or the configuration names."""
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _import_failed(place: str, error: BaseException) -> TurnoutError:
    """Returns the error of a failed import: an error of Turnout as it is, others with their file and line."""
    if isinstance(error, TurnoutError):
        return error
    if isinstance(error, SyntaxError):
        at = f" ({error.filename}, line {error.lineno})"
        return InvalidTarget(f"{place} is not Python: {error.msg}{at}", code="import_failed", target=place)
    frames = traceback.extract_tb(error.__traceback__)
    at = f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""
    return InvalidTarget(
        f"{place} cannot be imported: {type(error).__name__}: {error}{at}", code="import_failed", target=place
    )
