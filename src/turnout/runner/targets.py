"""Loads workflows and modules by targets, such as ``shop.orders:fulfil``, ``flows/orders.py`` or ``nightly.yaml``.

A target is a module or a file in Python or YAML, with ``:workflow`` behind it where one of several is meant, or a
folder of files.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from turnout.authoring.workflow import Workflow
from turnout.errors import InvalidTarget, TurnoutError
from turnout.model.names import suggest
from turnout.runner.modules import load_module
from turnout.runner.workflow_files import files_of, is_workflow_file

if TYPE_CHECKING:
    from turnout.runner.yaml_targets import YamlFiles

log = logging.getLogger("turnout.targets")

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


def configured_workflows(
    targets: Iterable[str], search: Iterable[Path] = (), configured: Iterable[str] = ()
) -> list[AnyWorkflow]:
    """Returns the workflows of all these targets. Files in YAML may use tasks of these and of the configured ones."""
    wanted, places = tuple(targets), tuple(search)
    named = (*wanted, *configured)
    return [workflow for target in wanted for workflow in load_workflows(target, places, named)]


def load_workflows(target: str, search: Iterable[Path] = (), configured: Iterable[str] = ()) -> list[AnyWorkflow]:
    """Returns all workflows that the target names: one, or those of a module or a folder."""
    place, name = _split(target)
    if name or is_workflow_file(place):
        return [load_workflow(target, search, configured)]
    if folder := _folder(place, search):
        return _of_folder(folder, search, configured)
    module = load_module(place, search)
    found = list(workflows_of(module).values())
    return found if found or task_refs(module) or trigger_names(module) else [load_workflow(target, search)]


def module_of(target: str, search: Iterable[Path] = ()) -> ModuleType:
    """Returns the module of a target that is one, or that names one of its workflows."""
    return load_module(_split(target)[0], search)


def task_refs(module: ModuleType) -> list[str]:
    """Returns the tasks that the module declares, as ``module:function``."""
    from turnout.runner.yaml_targets import DeclaredTasks

    return list(DeclaredTasks(lambda: [module]))


def trigger_names(module: ModuleType) -> list[str]:
    """Returns the triggers that the module declares."""
    from turnout.authoring.triggers import defined_triggers

    return [each.name for each in defined_triggers() if each.function.__module__ == module.__name__]


def yaml_files(configured: Iterable[str], search: Iterable[Path], also: Sequence[ModuleType] = ()) -> YamlFiles:
    """Returns the loader of workflow files in a project with these configured workflows. Files may use tasks that the
    configured modules and folders declare, and those of ``also``."""
    from turnout.runner.yaml_targets import DeclaredTasks, YamlFiles

    targets, places = tuple(configured), tuple(search)
    return YamlFiles(DeclaredTasks(lambda: [*configured_modules(targets, places), *also]))


def configured_modules(targets: Iterable[str], search: Iterable[Path] = ()) -> list[ModuleType]:
    """Returns the modules of these targets: those that are named, and the Python files of folders."""
    found: list[ModuleType] = []
    for place in dict.fromkeys(_split(each)[0] for each in targets):
        if folder := _folder(place, search):
            found += _python_files(folder, search)
        elif not is_workflow_file(place):
            found.append(load_module(place, search))
    return found


def _python_files(folder: Path, search: Iterable[Path]) -> list[ModuleType]:
    """Returns the modules of the folder's Python files. A broken one is logged and left out."""
    found: list[ModuleType] = []
    for path in files_of(folder):
        if not is_workflow_file(path.name):
            try:
                found.append(load_module(str(path), search))
            except TurnoutError as error:
                log.warning("%s is left out: %s", path, error.message)
    return found


def _folder(place: str, search: Iterable[Path]) -> Path | None:
    """Returns the folder of workflow files that the place is; a package is none, and neither is a module's name."""
    for root in (Path.cwd(), *search):
        folder = root / place
        if folder.is_dir() and not (folder / "__init__.py").is_file() and ("/" in place or any(folder.glob("*.y*ml"))):
            return folder
    return None


def _of_folder(folder: Path, search: Iterable[Path], configured: Iterable[str]) -> list[AnyWorkflow]:
    """Returns the workflows of all files of the folder. A broken file is logged and left out."""
    modules = _python_files(folder, search)
    others = [each for each in configured if _folder(_split(each)[0], search) != folder]
    loader = yaml_files(others, search, modules)
    found = [workflow for module in modules for workflow in workflows_of(module).values()]
    for path in files_of(folder):
        if is_workflow_file(path.name):
            try:
                found.append(loader.load(path, folder)[0])
            except TurnoutError as error:
                log.warning("%s is left out: %s", path, error.message)
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
