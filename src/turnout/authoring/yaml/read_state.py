"""Gathers what the reading of one document finds: problems, and the places of its values."""

from __future__ import annotations

from typing import Literal, TypeAlias

from turnout.authoring.yaml.findings import MAX_FINDINGS, Finding, Severity
from turnout.authoring.yaml.marks import Mark
from turnout.authoring.yaml.nodes import Entry, Items, Node, Scalar, Table

Source: TypeAlias = Literal["file", "base"]


class Rejected(Exception):
    """Raised when a value was reported and cannot be used. It never leaves the reader."""


class TooManyFindings(Exception):
    """Raised when a document has more findings than are reported. It never leaves the reader."""


class Reading:
    """Gathers the findings and the places of one document while it is read."""

    def __init__(self, source: Source = "file") -> None:
        self.findings: list[Finding] = []
        self.places: dict[str, Mark] = {}
        self.source: Source = source

    def report(self, severity: Severity, code: str, message: str, mark: Mark, where: str = "") -> None:
        if len(self.findings) == MAX_FINDINGS:
            why = f"there are more than {MAX_FINDINGS} findings; further ones are left out"
            self.findings.append(Finding("error", "too_many_findings", why, *mark, "", self.source))
            raise TooManyFindings
        self.findings.append(Finding(severity, code, message, *mark, where, self.source))

    def reject(self, code: str, message: str, mark: Mark, where: str = "") -> Rejected:
        """Returns what to raise after it has reported the error."""
        self.report("error", code, message, mark, where)
        return Rejected()


def unique(table: Table, where: str, reading: Reading) -> list[Entry]:
    """Returns the entries of a table, and reports every key that was written before."""
    first: dict[str, Entry] = {}
    for entry in table.entries:
        if entry.key in first:
            why = f"the key {entry.key!r} is here again, after line {first[entry.key].mark.line}"
            reading.report("error", "duplicate_key", why, entry.mark, f"{where}.{entry.key}".lstrip("."))
        else:
            first[entry.key] = entry
            reading.places[f"{where}.{entry.key}".lstrip(".")] = entry.node.mark
    return list(first.values())


def report_repeated(node: Node, where: str, reading: Reading) -> None:
    """Records the places inside a value that is not read further, and reports the keys that stand twice in a table."""
    match node:
        case Items(nodes=nodes):
            for number, each in enumerate(nodes):
                reading.places[f"{where}[{number}]"] = each.mark
                report_repeated(each, f"{where}[{number}]", reading)
        case Table():
            for entry in unique(node, where, reading):
                report_repeated(entry.node, f"{where}.{entry.key}", reading)
        case Scalar():
            pass
