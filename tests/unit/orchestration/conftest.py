"""The parts of an orchestrator without a database and without threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pytest
from kit.loop import ManualLoop
from kit.parts import Parts


@pytest.fixture
def loop() -> Iterator[ManualLoop]:
    made = ManualLoop()
    yield made
    made.finish()


@pytest.fixture
def build(loop: ManualLoop) -> Callable[..., Parts]:
    """``build(graph, default=2)``: the parts of an orchestrator that knows this workflow and has two slots."""
    return partial(Parts, loop)
