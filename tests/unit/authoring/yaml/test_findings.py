"""Codes of findings: every code that the source reports has a meaning in the reference."""

from __future__ import annotations

import ast
from itertools import pairwise
from pathlib import Path

from turnout.authoring.yaml.findings import FINDING_CODES, Finding, has_errors
from turnout.authoring.yaml.marks import Mark, Marks

SOURCE = Path(__file__).parents[4] / "src" / "turnout" / "authoring" / "yaml"
SEVERITIES = ("error", "warning", "note")


def reported() -> set[str]:
    """The codes that stand behind a severity, or first in a rejection."""
    found: set[str] = set()
    for path in SOURCE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                texts = [each.value if isinstance(each, ast.Constant) else None for each in node.args]
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                for before, after in pairwise(texts):
                    if before in SEVERITIES and isinstance(after, str):
                        found.add(after)
                if name == "reject" and isinstance(texts[0], str):
                    found.add(texts[0])
                if name == "_refuse" and len(texts) > 1 and isinstance(texts[1], str):
                    found.add(texts[1])
    return found


def test_every_code_that_is_reported_has_a_meaning() -> None:
    found = reported()
    assert len(found) > 30 and found <= set(FINDING_CODES)


def test_every_code_with_a_meaning_is_reported() -> None:
    of_the_text = {"malformed_yaml", "yaml_too_large"}
    of_the_schedule = {"schedule_never_fires", "unknown_timezone", "duplicate_schedule", "bad_schedule_params"}
    of_forms = {"cron_fields", "bad_limit", "bad_resources", "unknown_parameter"}
    assert set(FINDING_CODES) - reported() == of_the_text | of_the_schedule | of_forms


def test_meanings_are_sentences() -> None:
    assert all(text.endswith(".") and (text[0].isupper() or text[0] == "`") for text in FINDING_CODES.values())


def test_only_errors_make_a_file_unusable() -> None:
    note, error = Finding("note", "a", "b", 1, 1), Finding("error", "a", "b", 1, 1)
    assert not has_errors([]) and not has_errors([note]) and has_errors([note, error])


def test_a_mark_is_looked_up_outwards() -> None:
    marks = Marks({"steps[0]": Mark(2, 5), "steps[0].env": Mark(3, 10), "": Mark(9, 9)})
    assert marks.at("steps[0].env.A") == Mark(3, 10)
    assert marks.at("steps[0].command[1].x") == Mark(2, 5)
    assert marks.at("steps[1]") == Mark(9, 9)
    assert Marks({}).at("a.b[0]") == Mark(1, 1)
