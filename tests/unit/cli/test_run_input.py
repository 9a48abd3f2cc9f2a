"""Parameters of a run whose workflow is elsewhere."""

from __future__ import annotations

import pytest

from turnout.cli.run_input import named_values, untyped_parameters
from turnout.errors import InvalidInput


def test_values_are_json_if_they_are_json_and_text_where_text_is_declared() -> None:
    pairs = ["total=21", "name=Ada", "zip=01234", "tags=[1, 2]", "note=a=b", "empty=", "code=7"]
    assert untyped_parameters(pairs, texts=["code"]) == {
        "total": 21,
        "name": "Ada",
        "zip": "01234",
        "tags": [1, 2],
        "note": "a=b",
        "empty": "",
        "code": "7",
    }


@pytest.mark.parametrize("pairs", [["total"], ["=3"], ["a=1", "a=2"]])
def test_what_is_no_pair_is_refused(pairs: list[str]) -> None:
    with pytest.raises(InvalidInput):
        untyped_parameters(pairs)


def test_arguments_take_the_names_of_parameters_in_their_order() -> None:
    names = ["day", "limit", "note"]
    assert named_values(names, names, ["monday", "note=x", "5"]) == ["day=monday", "note=x", "limit=5"]
    assert named_values(["day"], ["day"], ["other=5"]) == ["day=other=5"]
    assert named_values(["day", "by_name"], ["day"], ["by_name=1", "2"]) == ["by_name=1", "day=2"]
    for positional in ([], ["day"]):
        with pytest.raises(InvalidInput, match="one argument too many"):
            named_values(["day"], positional, ["a", "b"])
