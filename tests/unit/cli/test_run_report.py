"""The attempts of a stored run as people see them."""

from __future__ import annotations

import pytest

from turnout.cli.run_report import print_attempts
from turnout.runner.views import AttemptView


def shown(capsys: pytest.CaptureFixture[str], *attempts: AttemptView) -> list[list[str]]:
    print_attempts(attempts)
    return [line.split() for line in capsys.readouterr().out.splitlines()]


def test_where_some_did_not_begin_both_numbers_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    back = AttemptView(task="charge", attempt=1, number=None, executor="gpu", outcome="returned", ended_at=1.0)
    began = AttemptView(task="charge", attempt=2, number=1, executor="gpu", outcome="completed", ended_at=1.0)
    header, first, second = shown(capsys, back, began)
    assert header[:3] == ["task", "attempt", "info.attempt"]
    assert (first[:4], second[:4]) == (["charge", "1", "–", "gpu"], ["charge", "2", "1", "gpu"])


def test_where_all_began_one_number_is_enough(capsys: pytest.CaptureFixture[str]) -> None:
    header, only = shown(capsys, AttemptView(task="charge", attempt=1, number=1, outcome="completed", ended_at=1.0))
    assert "info.attempt" not in header and only[:2] == ["charge", "1"]
