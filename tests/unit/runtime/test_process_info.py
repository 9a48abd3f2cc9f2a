"""Sizes as people write them, and the memory of a process as the system tells it."""

from __future__ import annotations

import os
from typing import Any

import pytest

from turnout.errors import InvalidSetting
from turnout.runtime.process_info import MEASURABLE, format_size, parse_size, resident

pytestmark = pytest.mark.skipif(not MEASURABLE, reason="needs /proc")


@pytest.mark.parametrize(
    ("written", "meant"), [("512MB", 512_000_000), ("2GiB", 2**31), ("1.5 kb", 1500), ("7", 7), (7, 7), (None, None)]
)
def test_a_size_is_a_number_of_bytes(written: Any, meant: int | None) -> None:
    assert parse_size(written, "limit") == meant


@pytest.mark.parametrize("written", ["much", "", "0", 0, -5, True, 1.5, "5 parsecs"])
def test_anything_else_is_refused_with_an_example(written: Any) -> None:
    with pytest.raises(InvalidSetting, match="512MB"):
        parse_size(written, "limit")


def test_this_process_holds_some_memory() -> None:
    assert resident([os.getpid()])[os.getpid()] > 1_000_000
    assert format_size(512_000_000) == "512 MB"
