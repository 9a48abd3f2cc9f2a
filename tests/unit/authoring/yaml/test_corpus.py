"""Files of the kinds that teams write: all of them are valid, and they use every key at least twice."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.kit.yaml_corpus import TASKS, CorpusFile, corpus
from turnout.authoring.yaml.compiler import compile_file
from turnout.authoring.yaml.document import (
    Condition,
    ContinueOn,
    Handlers,
    HttpRequest,
    Parallel,
    Parameter,
    RepeatPolicy,
    RetryPolicy,
    RunRetryPolicy,
    Schedule,
    Secret,
    StepDefaults,
    StepDocument,
    WorkflowDocument,
)
from turnout.authoring.yaml.nodes import documents_of, plain
from turnout.authoring.yaml.tables import fields_of

CORPUS = corpus()
NESTED: dict[str, dict[str, type[Any]]] = {
    "workflow": {
        "retry_policy": RunRetryPolicy,
        "preconditions": Condition,
        "secrets": Secret,
        "schedule": Schedule,
        "handler_on": Handlers,
        "defaults": StepDefaults,
        "params": Parameter,
    },
    "step": {
        "retry_policy": RetryPolicy,
        "repeat_policy": RepeatPolicy,
        "continue_on": ContinueOn,
        "preconditions": Condition,
        "parallel": Parallel,
        "http": HttpRequest,
    },
}


@pytest.mark.parametrize("file", CORPUS, ids=lambda file: file.name)
def test_a_file_of_the_corpus_is_valid(file: CorpusFile) -> None:
    compiled = compile_file(file.text, name=file.name, tasks=TASKS)
    assert [each for each in compiled.findings if each.severity == "error"] == []
    assert compiled.workflows[0].name == file.name


def test_the_corpus_has_two_hundred_files() -> None:
    assert len({file.name for file in CORPUS}) == len(CORPUS) >= 200


def test_every_key_is_there_at_least_twice() -> None:
    used: Counter[str] = Counter()
    for file in CORPUS:
        for document in documents_of(file.text):
            count(plain(document), WorkflowDocument, "workflow", used)
    wanted = {f"{kind.__name__}.{name}" for kind in TABLES for name in fields_of(kind)}
    assert {key: used[key] for key in sorted(wanted) if used[key] < 2} == {}


TABLES = (WorkflowDocument, StepDocument, *(kind for tables in NESTED.values() for kind in tables.values()))


def count(table: Any, kind: type[Any], level: str, used: Counter[str]) -> None:
    """Counts the keys of a table and of those in it."""
    names = {name: field.name for field in fields_of(kind).values() for name in field.names}
    for key, value in table.items():
        name = names[key]
        used[f"{kind.__name__}.{name}"] += 1
        inner = NESTED[level].get(name) if level in NESTED and kind in (WorkflowDocument, StepDocument) else None
        if name == "steps":
            for step in flat(value):
                count(step, StepDocument, "step", used)
        elif kind is Handlers:
            for step in flat([value]):
                count(step, StepDocument, "step", used)
        elif inner is Parameter:
            declared = [value] if isinstance(value, dict) else value if isinstance(value, list) else []
            for each in declared:
                if isinstance(each, dict):
                    tables = [each] if "name" in each else [e for e in each.values() if isinstance(e, dict)]
                    for declaration in tables:
                        count(declaration, Parameter, "parameter", used)
        elif inner is not None and not (inner is Parallel and isinstance(value, list)):
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, dict) and each.keys() != {"expression"}:
                    count(each, inner, "inner", used)


def flat(steps: Any) -> list[Any]:
    """The tables of steps, of a list with lists in it or of a table."""
    listed = list(steps.values()) if isinstance(steps, dict) else steps
    found: list[Any] = []
    for each in listed:
        found += flat(each) if isinstance(each, list) else [each] if isinstance(each, dict) else []
    return found
