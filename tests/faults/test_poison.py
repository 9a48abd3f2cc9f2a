"""A row that the database refuses fails its own run, and no other."""

from __future__ import annotations

import threading

import pytest

from tests.faults.guarantees import check_history, execute
from turnout import Runner, Workflow, task, workflow
from turnout.errors import RunFailed

NEIGHBOURS = 20
ROUNDS = 10
"""In one of which it is in a batch with others: on a busy machine it may be alone."""
REFUSAL = {
    "sqlite": [
        "create trigger poison before update on task when new.output = '\"poison\"'"
        " begin select raise(abort, 'no poison here'); end"
    ],
    "postgresql": ["alter table task add constraint poison check (output is distinct from '\"poison\"')"],
}


def test_an_output_that_the_database_refuses_fails_its_run_alone(store_url: str) -> None:
    together = threading.Barrier(NEIGHBOURS + 1, timeout=30)

    @task
    def speak(word: str) -> str:
        together.wait()
        return word

    @task
    def repeat(word: str) -> str:
        return word

    @workflow
    def spoken(word: str) -> str:
        return repeat(speak(word))

    with Runner(store_url, workflows=[spoken], handle_sigterm=False) as runner:
        for statement in REFUSAL[store_url.partition(":")[0]]:
            execute(store_url, statement)
        words = [f"word{number}" for number in range(NEIGHBOURS)]
        words.insert(NEIGHBOURS // 2, "poison")
        ledger = runner._core.engine.ledger
        for _ in range(ROUNDS):
            outcomes = _spoken_by_all(runner, spoken, words)
            assert outcomes == {word: word for word in words if word != "poison"}
            if ledger.metrics.splits:
                break
        print(f"{ledger.metrics.splits} splits to find the run at fault")
        assert ledger.metrics.splits, "the poisoned run was never in one batch with others"
    check_history(store_url)


def _spoken_by_all(runner: Runner, spoken: Workflow[..., str], words: list[str]) -> dict[str, str]:
    outcomes: dict[str, str] = {}
    for word, handle in zip(words, runner.submit_many(spoken, [{"word": word} for word in words]), strict=True):
        if word == "poison":
            with pytest.raises(RunFailed) as failure:
                handle.result(30)
            assert handle.status().reason == "store_rejected"
            assert "poison" in str(failure.value)
        else:
            outcomes[word] = handle.result(30)
    return outcomes
