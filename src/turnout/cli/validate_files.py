"""Checks YAML workflow files for ``turnout validate``, and prints their findings as ``file:line:column``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnout.cli.format import format_count

if TYPE_CHECKING:
    from turnout.cli.output import Line
    from turnout.runner.yaml_targets import AnyWorkflow, YamlFiles

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


def checked_file(
    target: str, folder: Path | None, files: YamlFiles, check: Callable[[AnyWorkflow], dict[str, Any]]
) -> list[dict[str, Any]]:
    """Returns a document for every workflow of the file, or one if there are errors; the first has the findings."""
    from turnout.authoring.yaml.findings import has_errors
    from turnout.runner.workflow_files import base_of, read_workflow_file

    path = Path(target)
    compiled = files.compile(read_workflow_file(path, folder))
    findings = [
        {
            "file": str(base_of(path, folder)) if each.source == "base" else target,
            "line": each.line,
            "column": each.column,
            "severity": each.severity,
            "code": each.code,
            "message": each.message,
            "where": each.where,
        }
        for each in compiled.findings
    ]
    if has_errors(compiled.findings):
        errors = format_count(sum(each.severity == "error" for each in compiled.findings), "error")
        error = {"code": "invalid_workflow_file", "message": errors}
        return [{"target": target, "ok": False, "error": error, "findings": findings}]
    documents = [check(workflow) for workflow in compiled.workflows]
    return [{**each, "findings": findings if number == 0 else []} for number, each in enumerate(documents)]


def finding_lines(each: dict[str, Any]) -> Iterator[Line]:
    """Yields a line for every finding, as compilers print them."""
    for finding in each.get("findings", ()):
        place = f"{finding['file']}:{finding['line']}:{finding['column']}: "
        kind = f"{finding['severity']}[{finding['code']}]: "
        yield [(place, ""), (kind, _STYLES[finding["severity"]]), (finding["message"], "")]
