"""Loads the workflows of YAML files that targets name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec

from turnout.authoring.task import Task
from turnout.authoring.workflow import Workflow
from turnout.errors import InvalidTarget, InvalidWorkflow, TurnoutError
from turnout.model.names import suggest
from turnout.runner.workflow_files import YAML_SUFFIXES, WorkflowFile, read_workflow_file

if TYPE_CHECKING:
    from turnout.authoring.yaml.compiler import CompiledFile
    from turnout.authoring.yaml.findings import Finding
    from turnout.authoring.yaml.marks import Mark

AnyWorkflow = Workflow[..., Any]

MAX_NESTED_FILES = 32
"""Files of which each calls the next; deeper ones are not looked for."""


class Declared(msgspec.Struct, frozen=True):
    """What workflow files may name: tasks as ``module:function``, and workflows."""

    tasks: Mapping[str, Task[..., Any]] = MappingProxyType({})
    workflows: Mapping[str, AnyWorkflow] = MappingProxyType({})

    def with_workflows(self, more: Iterable[AnyWorkflow]) -> Declared:
        return msgspec.structs.replace(self, workflows={**self.workflows, **{each.name: each for each in more}})


NOTHING = Declared()


def compile_path(path: Path, declared: Declared = NOTHING, folder: Path | None = None) -> CompiledFile:
    """Returns the workflows of a file and the findings about it. Raises InvalidTarget if it cannot be read.

    A workflow that the file calls and that is not declared is looked for in the file of its name beside it.
    """
    return FileCompiler(declared, folder).compile(path)


class FileCompiler:
    """Compiles a file and those beside it that it calls, each once."""

    def __init__(self, declared: Declared, folder: Path | None) -> None:
        self._declared = declared
        self._folder = folder
        self._made: dict[Path, CompiledFile] = {}
        self._open: list[str] = []
        """The names of the files that are being compiled, each of which calls the next."""

    def compile(self, path: Path) -> CompiledFile:
        # The compiler loads the YAML library.
        from turnout.authoring.yaml.compiler import CompiledFile, compile_file

        if path not in self._made:
            file = read_workflow_file(path, self._folder)
            self._open.append(file.name)
            beside, problems = self._beside(file)
            self._open.pop()
            known = self._declared.with_workflows(beside)
            made = compile_file(file.text, name=file.name, base=file.base, tasks=known.tasks, workflows=known.workflows)
            places = {_place(each) for each in problems}
            others = [each for each in made.findings if _place(each) not in places]
            self._made[path] = CompiledFile(made.workflows, tuple(sorted([*others, *problems], key=_place)))
        return self._made[path]

    def _beside(self, file: WorkflowFile) -> tuple[list[AnyWorkflow], list[Finding]]:
        """Returns the workflows that a file calls, from the files beside it, and what is wrong with those calls."""
        from turnout.authoring.yaml.findings import Finding
        from turnout.authoring.yaml.reader import read_file

        reading = read_file(file.text, name=file.name, base=file.base)
        local = {each.name for each in reading.documents}
        found: dict[str, AnyWorkflow] = {}
        problems: list[Finding] = []
        for document, marks in zip(reading.documents, reading.marks, strict=True):
            for step in document.steps:
                name, where = step.call or "", f"{step.where}.call"
                if not name or name in local or name in self._declared.workflows or name in found:
                    continue
                if name in self._open:
                    around = " → ".join([*self._open[self._open.index(name) :], name])
                    why = f"workflows call one another in a circle and would never end: {around}"
                    problems.append(Finding("error", "recursive_workflow", why, *marks.at(where), where))
                elif (path := _file_of(name, file.path)) is not None and len(self._open) < MAX_NESTED_FILES:
                    made = self.compile(path)
                    found |= {each.name: each for each in made.workflows[:1]}
                    problems += [_passed_on(each, path, marks.at(where), where) for each in _errors(made)[:1]]
        return list(found.values()), problems


def _file_of(name: str, beside: Path) -> Path | None:
    paths = (beside.with_name(f"{name}{suffix}") for suffix in YAML_SUFFIXES)
    return next((path for path in paths if path.is_file()), None)


def _errors(compiled: CompiledFile) -> list[Finding]:
    return [each for each in compiled.findings if each.severity == "error"]


def _passed_on(error: Finding, path: Path, mark: Mark, where: str) -> Finding:
    """Returns the error of a file that is called, at the place of the call."""
    code = "recursive_workflow" if error.code == "recursive_workflow" else "unknown_workflow"
    why = f"{where} names {path.name}, which has an error in line {error.line}: {error.message}"
    return msgspec.structs.replace(error, code=code, message=why, line=mark.line, column=mark.column, where=where)


def _place(finding: Finding) -> tuple[str, int, int]:
    return finding.source, finding.line, finding.column


def load_yaml(target: str, search: Iterable[Path] = (), declared: Declared = NOTHING) -> list[AnyWorkflow]:
    """Returns the workflows of a file, the main one first. The file is looked for in the working directory and then in
    these folders. Raises InvalidWorkflow, with the findings, if it has errors."""
    path = next((each for folder in (Path(), *search) if (each := folder / target).is_file()), Path(target))
    compiled = compile_path(path, declared)
    errors = _errors(compiled)
    if not errors:
        return list(compiled.workflows)
    first = errors[0]
    more = f" (`turnout validate {target}` shows all {len(errors)} errors)" if len(errors) > 1 else ""
    raise InvalidWorkflow(
        f"{target}:{first.line}:{first.column}: {first.message}{more}",
        code="invalid_workflow_file",
        target=target,
        findings=[msgspec.structs.asdict(each) for each in compiled.findings],
    )


def load_all_yaml(targets: Iterable[str], search: Iterable[Path], declared: Declared) -> list[AnyWorkflow]:
    """Returns the main workflows of several files, which may call one another. Raises what is wrong with the first of
    those that cannot be loaded."""
    found, refused = loadable_yaml(targets, search, declared)
    for error in refused:
        raise error
    return found


def loadable_yaml(
    targets: Iterable[str], search: Iterable[Path], declared: Declared
) -> tuple[list[AnyWorkflow], list[TurnoutError]]:
    """Returns the main workflows of the files that can be loaded, and what is wrong with the others. A file waits for
    those that it calls."""
    folders, waiting = tuple(search), list(targets)
    found: list[AnyWorkflow] = []
    while True:
        refused: dict[str, TurnoutError] = {}
        for target in waiting:
            try:
                found.append(load_yaml(target, folders, declared.with_workflows(found))[0])
            except TurnoutError as error:
                refused[target] = error
        if len(refused) == len(waiting):
            return found, list(refused.values())
        waiting = list(refused)


def chosen(target: str, name: str | None, workflows: Iterable[AnyWorkflow]) -> AnyWorkflow:
    """Returns the workflow of that name, by default the first. Raises InvalidTarget if there is none."""
    known = {each.name: each for each in workflows}
    if name is None:
        return next(iter(known.values()))
    if name not in known:
        raise InvalidTarget(
            f"{target} has no workflow {name!r}{suggest(name, known)}", code="no_such_workflow", target=target
        )
    return known[name]
