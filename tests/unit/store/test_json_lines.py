"""Moves of many runs are encoded by one call: each must come out as it would alone."""

from __future__ import annotations

import pytest

from turnout.errors import StoreRejected
from turnout.store.database import json_lines, json_list


def test_each_value_is_the_text_that_it_would_be_alone() -> None:
    values = [["a\nb", "\r\u2028"], [], [1, None, 'a "quoted" \\n']]
    assert json_lines(values) == [json_list(value) for value in values]


def test_nothing_gives_no_line() -> None:
    assert json_lines([]) == []


@pytest.mark.parametrize("bad", ["\0", "\ud800"])
def test_text_that_no_database_stores_is_refused(bad: str) -> None:
    with pytest.raises(StoreRejected):
        json_lines([["fine"], [bad]])


def test_a_backslash_before_u0000_is_text() -> None:
    assert json_lines([["\\u0000"]]) == [r'["\\u0000"]']
