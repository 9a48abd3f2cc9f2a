"""Checks YAML workflow files for ``turnout validate``, and prints their findings as ``file:line:column``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnout.cli.format import format_count

if TYPE_CHECKING:
    from turnout.authoring.yaml.document import Parameter, WorkflowDocument
    from turnout.cli.output import Line
    from turnout.runner.yaml_targets import YamlFiles

_STYLES = {"error": "red", "warning": "yellow", "note": "dim"}


def expanded(targets: list[str]) -> Iterator[tuple[str, Path | None]]:
    """Yields the targets, each with the folder that it was found in if it came from one."""
    from turnout.runner.workflow_files import files_of

    for target in targets:
        folder = Path(target)
        if folder.is_dir() and not (folder / "__init__.py").is_file():
            yield from ((str(path), folder) for path in files_of(folder))
        else:
            yield target, None


def checked_file(target: str, folder: Path | None, loader: YamlFiles) -> list[dict[str, Any]]:
    """Returns a document for every workflow of the file, or one if there are errors; the first has the findings."""
    from turnout.authoring.yaml.findings import has_errors
    from turnout.runner.workflow_files import read_workflow_file

    file = read_workflow_file(Path(target), folder)
    reading = loader.compile(file)
    base = None if file.base_path is None else str(file.base_path)
    findings = [
        {
            "file": base if each.source == "base" else target,
            "line": each.line,
            "column": each.column,
            "severity": each.severity,
            "code": each.code,
            "message": each.message,
            "where": each.where,
        }
        for each in reading.findings
    ]
    if has_errors(reading.findings):
        errors = format_count(sum(each.severity == "error" for each in reading.findings), "error")
        error = {"code": "invalid_workflow_file", "message": errors}
        return [{"target": target, "ok": False, "error": error, "findings": findings}]
    documents = [_described(target, workflow.document) for workflow in reading.workflows]
    return [{**each, "findings": findings if number == 0 else []} for number, each in enumerate(documents)]


def _described(target: str, document: WorkflowDocument) -> dict[str, Any]:
    return {
        "target": target,
        "ok": True,
        "workflow": document.name,
        "parameters": [_parameter(each) for each in document.params],
        "tasks": [step.name for step in document.steps],
        "warnings": [],
    }


def _parameter(each: Parameter) -> dict[str, Any]:
    from msgspec import UNSET

    return {
        "name": each.name,
        "type": each.type,
        "required": each.required,
        "default": None if each.default is UNSET else each.default,
        "doc": each.description,
    }


def finding_lines(each: dict[str, Any]) -> Iterator[Line]:
    """Yields a line for every finding, as compilers print them."""
    for finding in each.get("findings", ()):
        place = f"{finding['file']}:{finding['line']}:{finding['column']}: "
        kind = f"{finding['severity']}[{finding['code']}]: "
        yield [(place, ""), (kind, _STYLES[finding["severity"]]), (finding["message"], "")]
