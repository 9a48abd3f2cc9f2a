"""Loads workflows and modules by targets, such as ``shop.orders:fulfil``, ``flows/orders.py`` or ``nightly.yaml``.

A target is ``module``, ``file.py`` or ``file.yaml``, each also with ``:workflow``. A Python file is imported under the
name that it would have as a module, so that other processes can import its functions by it.
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
from typing import Any

from turnout.authoring.task import Task
from turnout.authoring.workflow import Workflow
from turnout.errors import InvalidTarget, TurnoutError
from turnout.model.names import suggest
from turnout.runner.workflow_files import is_workflow_file
from turnout.runner.yaml_targets import NOTHING, Declared, chosen, load_all_yaml, load_yaml, loadable_yaml

AnyWorkflow = Workflow[..., Any]
_BARE = re.compile(r"\w+(?:(?:-|::)\w+)*")


def load_workflow(target: str, search: Iterable[Path] = (), declared: Declared = NOTHING) -> AnyWorkflow:
    """Returns the one workflow that the target names. A YAML file may name what is declared."""
    place, name = _split(target)
    if is_workflow_file(place):
        return chosen(target, name, load_yaml(place, search, declared))
    found = workflows_of(load_module(place, search))
    if name:
        workflow = found.get(name) or next((each for each in found.values() if each.name == name), None)
        if workflow is None:
            raise InvalidTarget(
                f"{place} has no workflow {name!r}{suggest(name, found)}", code="no_such_workflow", target=target
            )
        return workflow
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
    places, others = tuple(search), tuple(configured)
    in_yaml = [each for each in (target, *others) if is_workflow_file(each.rpartition(":")[0] or each)]
    declared = declared_by(others, places) if in_yaml else NOTHING
    if not _BARE.fullmatch(target):
        return load_workflow(target, places, declared)
    found: list[tuple[str, AnyWorkflow]] = []
    broken: TurnoutError | None = None
    for place in others:
        try:
            found += [(place, each) for each in load_workflows(place, places, declared)]
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
    """Returns the workflows of all these targets; those of YAML files may call the others."""
    places, given = tuple(search), tuple(targets)
    in_yaml = [target for target in given if is_workflow_file(target)]
    in_python = [target for target in given if target not in in_yaml]
    found = [workflow for target in in_python for workflow in load_workflows(target, places)]
    return found + (load_all_yaml(in_yaml, places, declared_by(in_python, places)) if in_yaml else [])


def load_workflows(target: str, search: Iterable[Path] = (), declared: Declared = NOTHING) -> list[AnyWorkflow]:
    """Returns all workflows that the target names: one, those of a module, or the main one of a YAML file."""
    place, name = _split(target)
    if name or is_workflow_file(place):
        return [load_workflow(target, search, declared)]
    found = list(workflows_of(load_module(place, search)).values())
    return found or [load_workflow(target, search)]


def declared_by(targets: Iterable[str], search: Iterable[Path] = ()) -> Declared:
    """Returns the tasks and workflows of these targets, for YAML files to name. A target that cannot be loaded declares
    nothing."""
    places, given = tuple(search), [(_split(target)[0], target) for target in targets]
    declared = NOTHING
    for place in dict.fromkeys(place for place, _ in given if not is_workflow_file(place)):
        try:
            module = load_module(place, places)
        except TurnoutError:
            continue
        tasks = {**declared.tasks, **tasks_of(module)}
        declared = Declared(tasks, declared.workflows).with_workflows(workflows_of(module).values())
    in_yaml = [target for place, target in given if is_workflow_file(place)]
    return declared.with_workflows(loadable_yaml(in_yaml, places, declared)[0])


def workflows_of(module: ModuleType) -> dict[str, AnyWorkflow]:
    """Returns the workflows of a module by their names in it: its own, or if it has none those that it imports."""
    there = {name: value for name, value in vars(module).items() if isinstance(value, Workflow)}
    own = {name: each for name, each in there.items() if _home(each) in (None, module.__name__)}
    return own or there


def tasks_of(module: ModuleType) -> dict[str, Task[..., Any]]:
    """Returns the tasks in Python that the module declares, by ``module:function``."""
    return {
        f"{module.__name__}:{name}": value
        for name, value in vars(module).items()
        if isinstance(value, Task) and value.body.kind == "python" and value.ref.startswith(f"{module.__name__}:")
    }


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
