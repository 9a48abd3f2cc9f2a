"""Which run does the beginning of an id name? The edges of the range of ids that begin so."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout.errors import RunNotFound
from turnout.model.rows import NewRun, RunRow, StoredRun
from turnout.model.states import RunState
from turnout.runner.run_reader import find_run

HEX = "0123456789abcdef"


class Ids:
    """A store of nothing but ids, with the two ways of reading that finding uses."""

    def __init__(self, ids: set[str]) -> None:
        self.ids = sorted(ids, reverse=True)

    def run(self, run_id: str) -> StoredRun | None:
        plain = run_id.replace("-", "").lower()
        return next((stored(each) for each in self.ids if each == plain), None)

    def runs(self, *, before: str | None = None, limit: int, **_: Any) -> list[StoredRun]:
        return [stored(each) for each in self.ids if each < (before or "g")][:limit]


def stored(run_id: str) -> StoredRun:
    """A run; one whose id ends in c is a child."""
    parent = "0" * 32 if run_id.endswith("c") else None
    new = NewRun(run_id=run_id, workflow="w", version="v", input="{}", created_at=0.0, parent_run=parent)
    return StoredRun(new=new, row=RunRow(state=RunState.RUNNING), owner=None, epoch=1, seq=0)


@given(st.sets(st.text(HEX, min_size=32, max_size=32), min_size=1, max_size=6), st.data())
def test_a_beginning_names_the_only_run_that_has_it(ids: set[str], data: st.DataObject) -> None:
    chosen = data.draw(st.sampled_from(sorted(ids)))
    beginning = chosen[: data.draw(st.integers(1, 32))]
    matching = [each for each in ids if each.startswith(beginning)]
    if len(matching) == 1:
        assert find_run(Ids(ids), beginning).new.run_id == chosen  # type: ignore[arg-type]
    else:
        with pytest.raises(RunNotFound) as raised:
            find_run(Ids(ids), beginning)  # type: ignore[arg-type]
        assert raised.value.code == "ambiguous_run"


@pytest.mark.parametrize("last", HEX)
def test_the_highest_and_lowest_digits_are_found_too(last: str) -> None:
    run_id = "0199" + "a" * 27 + last
    assert find_run(Ids({run_id}), run_id[:-1]).new.run_id == run_id  # type: ignore[arg-type]


@given(st.sets(st.text("0123456789abc", min_size=32, max_size=32), max_size=8), st.integers(0, 250))
def test_the_last_is_the_newest_that_is_no_child(ids: set[str], children: int) -> None:
    newest_children = {f"f{number:030d}c" for number in range(children)}
    own = [each for each in ids if not each.endswith("c")]
    if own:
        assert find_run(Ids(ids | newest_children), "last").new.run_id == max(own)  # type: ignore[arg-type]
    else:
        with pytest.raises(RunNotFound, match="no run yet"):
            find_run(Ids(ids | newest_children), "last")  # type: ignore[arg-type]
