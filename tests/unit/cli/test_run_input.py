"""Parameters of a run whose workflow is elsewhere."""

from __future__ import annotations

import pytest

from turnout.cli.run_input import untyped_parameters
from turnout.errors import InvalidInput
from turnout.model.inputs import named_values


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
    assert named_values(["day", "limit", "note"], ["monday", "note=x", "5"]) == ["day=monday", "note=x", "limit=5"]
    assert named_values(["day"], ["other=5"]) == ["day=other=5"]
    with pytest.raises(InvalidInput, match="one argument too many"):
        named_values(["day"], ["a", "b"])
