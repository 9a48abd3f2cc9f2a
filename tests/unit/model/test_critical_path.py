"""The critical path: the chain of tasks that the end of a run waited for."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from turnout.model.critical_path import TaskSpan, critical_path


def test_the_path_follows_the_dependency_that_ended_last() -> None:
    spans = {
        "fetch": TaskSpan((), 2.0),
        "warm": TaskSpan((), 9.0),
        "parse": TaskSpan(("fetch",), 10.0),
        "store": TaskSpan(("parse", "warm"), 12.0),
        "mail": TaskSpan(("parse",), 11.0),
    }
    assert critical_path(spans) == ["fetch", "parse", "store"]


def test_tasks_that_were_never_at_work_are_not_on_it() -> None:
    assert critical_path({"a": TaskSpan((), 1.0), "b": TaskSpan(("a",), None)}) == ["a"]
    assert critical_path({"a": TaskSpan((), None)}) == []
    assert critical_path({}) == []


def test_a_dependency_that_is_not_in_the_graph_ends_the_path() -> None:
    assert critical_path({"b": TaskSpan(("gone",), 1.0)}) == ["b"]


@given(st.lists(st.tuples(st.floats(0, 1e6), st.lists(st.integers(0, 20), max_size=4)), max_size=20))
def test_each_task_of_the_path_depends_on_the_one_before_and_the_last_ended_last(
    tasks: list[tuple[float, list[int]]],
) -> None:
    spans = {
        str(number): TaskSpan(tuple(str(each) for each in before if each < number), end)
        for number, (end, before) in enumerate(tasks)
    }
    path = critical_path(spans)
    assert bool(path) is bool(tasks)
    if path:
        ends = [span.ended_at or 0.0 for span in spans.values()]
        assert spans[path[-1]].ended_at == max(ends)
        assert not spans[path[0]].depends_on
        for before, after in pairwise(path):
            ended = spans[before].ended_at or 0.0
            assert all((spans[each].ended_at or 0.0) <= ended for each in spans[after].depends_on)
            assert before in spans[after].depends_on
