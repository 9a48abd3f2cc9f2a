"""Loads workflows and modules by targets, such as ``shop.orders:fulfil``, ``flows/orders.py`` or ``nightly.yaml``.

A target is a module or a file in Python or YAML, with ``:workflow`` behind it where one of several is meant, or a
folder of files. A Python file is imported under the name that it would have as a module, so that other processes can
import its functions by it.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from turnout.authoring.workflow import Workflow
from turnout.errors import InvalidTarget, TurnoutError
from turnout.model.names import suggest
from turnout.runner.workflow_files import files_of, is_workflow_file

if TYPE_CHECKING:
    from turnout.runner.yaml_targets import YamlFiles

AnyWorkflow = Workflow[..., Any]
_BARE = re.compile(r"\w+(?:(?:-|::)\w+)*")


def load_workflow(target: str, search: Iterable[Path] = (), configured: Iterable[str] = ()) -> AnyWorkflow:
    """Returns the one workflow that the target names. A file in YAML may use tasks of the configured modules."""
    place, name = _split(target)
    if is_workflow_file(place):
        from turnout.runner.yaml_targets import found_file

        # The first is the workflow of the file; the others are local to it, and can be named.
        loaded = yaml_files(configured, search).load(found_file(place, search))
        found: dict[str, AnyWorkflow] = {each.name: each for each in (loaded if name else loaded[:1])}
    else:
        found = workflows_of(load_module(place, search))
    if name:
        chosen = found.get(name) or next((each for each in found.values() if each.name == name), None)
        if chosen is None:
            raise InvalidTarget(
                f"{place} has no workflow {name!r}{suggest(name, found)}", code="no_such_workflow", target=target
            )
        return chosen
    if not found:
        raise InvalidTarget(
            f"{place} defines no workflow: decorate a function with @workflow", code="no_workflow", target=target
        )
    if len(found) > 1:
        raise InvalidTarget(
            f"{place} defines several workflows ({', '.join(sorted(found))}): name one, as in {place}:{min(found)}",
            code="several_workflows",
            target=target,
        )
    return next(iter(found.values()))


def find_workflow(target: str, configured: Iterable[str], search: Iterable[Path] = ()) -> AnyWorkflow:
    """Returns the one workflow that the target names; a bare name is first looked up in the configured workflows."""
    places, configured = tuple(search), tuple(configured)
    if not _BARE.fullmatch(target):
        return load_workflow(target, places, configured)
    found: list[tuple[str, AnyWorkflow]] = []
    broken: TurnoutError | None = None
    for place in configured:
        try:
            found += [(place, each) for each in load_workflows(place, places, configured)]
        except TurnoutError as error:
            broken = broken or error
    named = {place: each for place, each in found if target in (each.name, f"{each.package}::{each.name}")}
    if len(named) == 1:
        return next(iter(named.values()))
    if named:
        where = ", ".join(f"{_split(place)[0]}:{target}" for place in named)
        raise InvalidTarget(
            f"several configured workflows are named {target!r}: write one of {where}",
            code="several_workflows",
            target=target,
        )
    try:
        return load_workflow(target, places)
    except InvalidTarget as error:
        if error.code != "no_such_module":
            raise
        if broken is not None:
            raise broken from None
        known = suggest(target, [each.name for _, each in found])
        raise InvalidTarget(
            f"no configured workflow and no module is named {target!r}{known}", code="no_such_module", target=target
        ) from None


def configured_workflows(targets: Iterable[str], search: Iterable[Path] = ()) -> list[AnyWorkflow]:
    """Returns the workflows of all these targets."""
    places, configured = tuple(search), tuple(targets)
    return [workflow for target in configured for workflow in load_workflows(target, places, configured)]


def load_workflows(target: str, search: Iterable[Path] = (), configured: Iterable[str] = ()) -> list[AnyWorkflow]:
    """Returns all workflows that the target names: one, or those of a module or a folder."""
    place, name = _split(target)
    if name or is_workflow_file(place):
        return [load_workflow(target, search, configured)]
    if folder := _folder(place, search):
        return _of_folder(folder, search, configured)
    found = list(workflows_of(load_module(place, search)).values())
    return found or [load_workflow(target, search)]


def yaml_files(configured: Iterable[str], search: Iterable[Path]) -> YamlFiles:
    """Returns the loader of workflow files in a project with these configured workflows."""
    from turnout.runner.yaml_targets import DeclaredTasks, YamlFiles

    places = tuple(search)
    modules = [place for each in configured if not is_workflow_file(place := _split(each)[0])]
    return YamlFiles(
        DeclaredTasks(lambda: [load_module(each, places) for each in modules if not _folder(each, places)])
    )


def _folder(place: str, search: Iterable[Path]) -> Path | None:
    """Returns the folder of workflow files that the place is; a package is none, and neither is a module's name."""
    for root in (Path.cwd(), *search):
        folder = root / place
        if folder.is_dir() and not (folder / "__init__.py").is_file() and ("/" in place or any(folder.glob("*.y*ml"))):
            return folder
    return None


def _of_folder(folder: Path, search: Iterable[Path], configured: Iterable[str]) -> list[AnyWorkflow]:
    loader = yaml_files(configured, search)
    found: list[AnyWorkflow] = []
    for path in files_of(folder):
        if is_workflow_file(path.name):
            found.append(loader.load(path, folder)[0])
        else:
            found += workflows_of(load_module(str(path), search)).values()
    return found


def workflows_of(module: ModuleType) -> dict[str, AnyWorkflow]:
    """Returns the workflows of a module by their names in it: its own, or if it has none those that it imports."""
    there = {name: value for name, value in vars(module).items() if isinstance(value, Workflow)}
    own = {name: each for name, each in there.items() if _home(each) in (None, module.__name__)}
    return own or there


def _home(workflow: AnyWorkflow) -> str | None:
    return workflow.source.ref.partition(":")[0] if workflow.source.ref else None


def _split(target: str) -> tuple[str, str | None]:
    place, colon, name = target.rpartition(":")
    if not colon:
        return target, None
    if not place or not name:
        raise InvalidTarget(
            f"{target!r} is no target: write module:workflow or file.py:workflow", code="invalid_target", target=target
        )
    return place, name


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
