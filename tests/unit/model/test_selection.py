"""The paths of ``select``."""

from __future__ import annotations

from typing import Any

import pytest

from turnout.errors import InvalidInput
from turnout.model.selection import selected

DOCUMENT = {"items": [{"id": 1, "a b": "x"}, {"id": 2, "a b": "y"}], "count": 2, "by": {"z": 1, "a": 2}, "none": None}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".", DOCUMENT),
        (".count", 2),
        (".none", None),
        (".items[0].id", 1),
        (".items[-1].id", 2),
        (".items.[0]", {"id": 1, "a b": "x"}),
        ('.items[0]."a b"', "x"),
        ('.items[0]["a b"]', "x"),
        (".items[].id", [1, 2]),
        (".by[]", [1, 2]),
        (".items | length", 2),
        (".items[].id | length", 2),
        (".items[].id | last", 2),
        (".items[] | first | .id", 1),
        (".by | keys", ["a", "z"]),
        (".items|first|.id", 1),
    ],
)
def test_a_path_finds_a_part_of_a_value(path: str, found: Any) -> None:
    assert selected(path, DOCUMENT) == found


@pytest.mark.parametrize(
    "path", ["", "items", ".items[", ".items[x]", ".items | sort", ".a b", ".items..id", "." * 1001]
)
def test_a_path_that_cannot_be_read_is_refused(path: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        selected(path, DOCUMENT)
    assert caught.value.code == "bad_select"


@pytest.mark.parametrize(
    "path", [".missing", ".items[2]", ".count.x", ".count[0]", ".count[]", ".count | length", ".items | keys"]
)
def test_nothing_at_the_path_is_an_error_that_names_what_is_there(path: str) -> None:
    with pytest.raises(InvalidInput, match="there is") as caught:
        selected(path, DOCUMENT)
    assert caught.value.code == "nothing_selected"
