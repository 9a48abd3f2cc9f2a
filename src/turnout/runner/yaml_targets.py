"""Loads workflows from YAML files, each with the other files of its folder and the tasks of configured modules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from turnout.authoring.task import Task
from turnout.authoring.workflow import Workflow
from turnout.authoring.yaml.compiler import CompiledFile, compile_file
from turnout.authoring.yaml.findings import Finding
from turnout.authoring.yaml.workflow import YamlWorkflow
from turnout.errors import InvalidTarget, InvalidWorkflow, TurnoutError
from turnout.runner.workflow_files import YAML_SUFFIXES, WorkflowFile, read_workflow_file

AnyWorkflow = Workflow[..., Any]


class YamlFiles:
    """Compiles workflow files, each once. What one calls is looked for in its folder."""

    def __init__(self, tasks: Mapping[str, Task[..., Any]]) -> None:
        self._tasks = tasks
        self._compiled: dict[Path, CompiledFile] = {}
        self._open: list[Path] = []

    def load(self, path: Path, folder: Path | None = None) -> tuple[YamlWorkflow, ...]:
        """Returns the workflow of the file and its local sub-workflows. Raises InvalidWorkflow with all findings."""
        compiled = self.compile(read_workflow_file(path, folder))
        if not compiled.workflows:
            raise _invalid(path, compiled.findings)
        return compiled.workflows

    def compile(self, file: WorkflowFile) -> CompiledFile:
        """Returns the file, compiled, with its findings."""
        path = file.path.resolve()
        known = self._compiled.get(path)
        if known is not None:
            return known
        self._open.append(path)
        try:
            beside = _Beside(self, file.path.parent)
            found = compile_file(file.text, name=file.name, base=file.base, tasks=self._tasks, workflows=beside)
        finally:
            self._open.pop()
        self._compiled[path] = found
        return found

    def called(self, path: Path) -> AnyWorkflow | None:
        """Returns the workflow of a file that another one calls; None if it has errors of its own."""
        if path.resolve() in self._open:
            names = [each.stem for each in self._open[self._open.index(path.resolve()) :]]
            raise InvalidWorkflow(
                f"workflow files call one another in a circle and would never end: {' → '.join([*names, names[0]])}",
                code="recursive_workflow",
            )
        found = self.compile(read_workflow_file(path)).workflows
        return found[0] if found else None


class _Beside(Mapping[str, AnyWorkflow]):
    """The workflows that a file may call, by name. Files are compiled when they are asked for."""

    def __init__(self, files: YamlFiles, folder: Path) -> None:
        self._files = files
        self._folder = folder

    def __getitem__(self, name: str) -> AnyWorkflow:
        for suffix in YAML_SUFFIXES:
            path = self._folder / f"{name}{suffix}"
            if path.parent == self._folder and path.is_file():
                found = self._files.called(path)
                if found is None:
                    raise InvalidWorkflow(f"{path.name} has errors of its own: see turnout validate {path}")
                return found
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (each.stem for each in sorted(self._folder.iterdir()) if each.suffix in YAML_SUFFIXES)

    def __len__(self) -> int:
        return len(list(iter(self)))


class DeclaredTasks(Mapping[str, Task[..., Any]]):
    """The tasks that configured modules declare, by ``module:function``. The modules are imported when one is asked
    for; no name from a file is ever imported."""

    def __init__(self, modules: Callable[[], Iterable[ModuleType]]) -> None:
        self._modules = modules

    @cached_property
    def _found(self) -> dict[str, Task[..., Any]]:
        found: dict[str, Task[..., Any]] = {}
        for module in self._modules():
            for value in list(vars(module).values()):
                tasks = value.tasks.values() if isinstance(value, Workflow) else [value]
                found |= {each.ref: each for each in tasks if isinstance(each, Task) and each.body.kind == "python"}
        return found

    def __getitem__(self, name: str) -> Task[..., Any]:
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


def found_file(target: str, search: Iterable[Path] = ()) -> Path:
    """Returns the path of a workflow file, looked for in the working directory and then in these folders."""
    found = next((path for root in (Path.cwd(), *search) if (path := root / target).is_file()), None)
    if found is None:
        raise InvalidTarget(f"there is no file {target!r}", code="no_such_file", target=target)
    return found


def _invalid(path: Path, findings: Iterable[Finding]) -> TurnoutError:
    errors = [each for each in findings if each.severity == "error"]
    lines = "".join(f"\n  {path}:{each.line}:{each.column}: {each.message}" for each in errors)
    return InvalidWorkflow(
        f"{path} has {len(errors)} error{'s' if len(errors) != 1 else ''}:{lines}",
        code="invalid_workflow_file",
        findings=errors,
    )
