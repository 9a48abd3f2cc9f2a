"""The corpus of workflow files runs as each of its files says, on a real Runner."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kit.yaml_corpus import TASKS, CorpusFile, corpus
from turnout import Runner
from turnout.authoring.yaml.compiler import compile_file

RUNNABLE = [file for file in corpus() if file.end != "validates"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """A run of every file, all submitted before the first is waited for."""
    folder: Path = tmp_path_factory.mktemp("corpus")
    config = folder / "turnout.toml"
    config.write_text("[queues.nightly]\nmax_active_runs = 1\n[queues.reports]\nmax_active_runs = 2\n")
    with Runner(f"sqlite:///{folder}/corpus.db", workflows=[], config=config) as runner:
        found: dict[str, Any] = {}
        for file in RUNNABLE:
            [workflow, *_] = compile_file(file.text, name=file.name, tasks=TASKS).workflows
            found[file.name] = runner.submit_with(workflow, input=file.input)
        yield found


@pytest.mark.parametrize("file", RUNNABLE, ids=lambda file: file.name)
def test_a_file_of_the_corpus_runs_as_it_says(file: CorpusFile, runs: dict[str, Any]) -> None:
    run = runs[file.name]
    end = run.wait(timeout=120)
    problems = [(task.name, task.state, task.error) for task in run.tasks() if task.error]
    assert str(end) == file.end, problems
    if file.result is not None:
        result = run.result()
        assert {name: result[name] for name in file.result} == file.result, problems
