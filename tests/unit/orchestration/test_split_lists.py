"""Long lists are taken apart once, and not more of them are kept than there is room for."""

from __future__ import annotations

from turnout.model.spec import FromParam, FromTask
from turnout.orchestration.loaders.arguments import LIST_OVERHEAD, SplitLists

SOURCE = FromTask("list", ("items",))


def test_a_list_is_kept_as_the_text_of_each_of_its_items() -> None:
    lists = SplitLists()
    assert lists.get("run", SOURCE) is None
    assert lists.split("run", SOURCE, [1, {"a": "ü"}]) == [b"1", '{"a":"ü"}'.encode()]
    assert lists.get("run", SOURCE) == [b"1", '{"a":"ü"}'.encode()]
    assert lists.get("run", FromParam("list", ("items",))) is None
    assert lists.get("other", SOURCE) is None


def test_the_lists_that_were_used_least_recently_are_forgotten() -> None:
    lists = SplitLists(limit=3 * LIST_OVERHEAD)
    for run in ("a", "b", "c"):
        lists.split(run, SOURCE, [])
    assert lists.get("a", SOURCE) == []
    lists.split("d", SOURCE, [])
    assert [run for run in "abcd" if lists.get(run, SOURCE) is not None] == ["a", "c", "d"]


def test_a_list_that_is_larger_than_all_room_is_kept_alone_until_the_next_comes() -> None:
    lists = SplitLists(limit=LIST_OVERHEAD)
    lists.split("a", SOURCE, ["x" * 5_000])
    assert lists.get("a", SOURCE) is not None
    lists.split("a", SOURCE, [])
    lists.split("b", SOURCE, [])
    assert (lists.get("a", SOURCE), lists.get("b", SOURCE)) == (None, [])
