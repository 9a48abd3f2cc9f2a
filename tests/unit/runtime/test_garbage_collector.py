"""The collector's threshold: raised while an orchestrator drives runs, and left alone where the program has its own."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from turnout.runtime.garbage_collector import YOUNG_THRESHOLD, collect_less_often


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_it_is_raised_by_the_first_orchestrator_and_restored_by_the_last() -> None:
    first, second = collect_less_often(), collect_less_often()
    assert gc.get_threshold() == (YOUNG_THRESHOLD, 10, 10)
    first()
    first()
    assert gc.get_threshold() == (YOUNG_THRESHOLD, 10, 10), "the second one is still there"
    second()
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("own", [0, 5_000, 50_000])
def test_a_threshold_of_the_program_itself_stays(own: int) -> None:
    gc.set_threshold(own, 5, 5)
    end = collect_less_often()
    assert gc.get_threshold() == (own, 5, 5)
    end()
    assert gc.get_threshold() == (own, 5, 5)


def test_a_threshold_that_the_program_sets_meanwhile_stays() -> None:
    end = collect_less_often()
    gc.set_threshold(3_000, 10, 10)
    end()
    assert gc.get_threshold() == (3_000, 10, 10)
