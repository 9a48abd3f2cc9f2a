"""The search for reference cycles pauses while a process starts."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from turnout.cli.collection import collection_paused


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    yield
    gc.enable()
    gc.unfreeze()


def test_the_pause_ends_when_the_process_is_ready_and_what_is_there_is_not_examined_again() -> None:
    with collection_paused() as collect_again:
        assert not gc.isenabled()
        frozen = gc.get_freeze_count()
        collect_again()
        assert gc.isenabled() and gc.get_freeze_count() > frozen
    assert gc.isenabled()


def test_the_pause_ends_when_the_start_fails() -> None:
    with pytest.raises(ValueError, match="no port"), collection_paused():
        raise ValueError("no port")
    assert gc.isenabled()


def test_a_collector_that_the_program_has_stopped_stays_stopped() -> None:
    gc.disable()
    with collection_paused() as collect_again:
        collect_again()
        assert not gc.isenabled()
    assert not gc.isenabled()
