"""Placeholders: parts of them are lazy, everything that needs a value is refused with the line and the way out."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest

from turnout import task, task_failed, workflow
from turnout.errors import NotYetAValue
from turnout.model.rules import TaskFailed
from turnout.model.spec import FromParam, FromTask


@task
def charge(order: Any) -> Any: ...


def drawn(use: Callable[[Any], Any]) -> Any:
    @workflow
    def flow(order: Any) -> Any:
        return use(charge(order))

    return flow.spec.result


@pytest.mark.parametrize(
    "use",
    [
        bool,
        len,
        str,
        int,
        float,
        list,
        iter,
        abs,
        lambda x: f"{x}",
        print,
        operator.index,
        operator.neg,
        lambda x: x + 1,
        lambda x: 1 + x,
        lambda x: x * 2,
        lambda x: [1] * x,
        lambda x: x - 1,
        lambda x: x / 2,
        lambda x: x % 2,
        lambda x: x**2,
        lambda x: x == 1,
        lambda x: x != 1,
        lambda x: x > 1,
        lambda x: operator.lt(1, x),
        lambda x: x == x,
        lambda x: 1 in x,
        lambda x: x(),
        lambda x: x.items(),
        lambda x: x[1:2],
        lambda x: x[True],
        lambda x: [each for each in x],
        lambda x: [*x],
        lambda x: 1 if x.ok else 2,
        lambda x: x.a or 1,
        lambda x: not x,
        lambda x: setattr(x, "a", 1),
        lambda x: x.__setitem__("a", 1),
        lambda x: operator.iadd(x, 1),
        lambda x: range(x),
        lambda x: sorted(x),
        lambda x: dict(**x) if False else x.__enter__(),
    ],
)
def test_whatever_needs_the_value_is_refused(use: Callable[[Any], Any]) -> None:
    with pytest.raises(NotYetAValue) as caught:
        drawn(use)
    assert "test_refs.py:" in caught.value.message
    assert "the result of 'charge'" in caught.value.message
    assert "Instead, " in caught.value.message
    assert caught.value.code == "not_yet_a_value"


def test_the_message_names_the_line_and_shows_it() -> None:
    @workflow
    def flow(order: Any) -> Any:
        if order.total > 100:
            return charge(order)

    with pytest.raises(NotYetAValue) as caught:
        _ = flow.spec
    assert "if order.total > 100:" in caught.value.message
    assert "parameter 'order' at ['total']" in caught.value.message


def test_parts_are_lazy_at_any_depth() -> None:
    assert drawn(lambda x: x.a["b"][0].c) == FromTask("charge", ("a", "b", 0, "c"))
    assert drawn(lambda x: x[-1]) == FromTask("charge", (-1,))
    assert drawn(lambda x: x["_private"]) == FromTask("charge", ("_private",))


def test_a_parameter_can_be_returned_and_picked_apart() -> None:
    @workflow
    def flow(order: Any) -> Any:
        charge(order.lines[0])
        return order

    assert flow.spec.result == FromParam("order")
    assert flow.spec.tasks[0].args == (FromParam("order", ("lines", 0)),)


def test_a_placeholder_can_be_shown_and_kept_but_has_no_private_names() -> None:
    seen: list[str] = []

    def use(x: Any) -> Any:
        seen.append(repr(x.a))
        assert len({x, x}) == 1
        assert not hasattr(x, "_repr_html_")
        assert not hasattr(x, "__wrapped__")
        return x

    drawn(use)
    assert seen == ["<the result of 'charge' at ['a'], not yet a value>"]


def test_a_trigger_rule_can_name_a_result_or_a_task() -> None:
    rules: list[Any] = []
    drawn(lambda x: rules.append(task_failed(x)))
    assert rules == [TaskFailed("charge")]
    assert task_failed(charge) == TaskFailed("charge")
    assert task_failed(charge.named("other")) == TaskFailed("other")


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("p, q = pair(x)", "pick its parts: r = pair(…) and r[0], r[1]"),
        ("[p, q, s] = pair(x)", "pick its parts: r = pair(…) and r[0], r[1], r[2]"),
        ("p, *rest = pair(x)", "pick its parts: r = pair(…) and r[0]"),
        ("p, q = x", "pick its parts: x[0], x[1]"),
        ("p, q = pair(x)['ends']", "pick its parts: r = pair(…) and r['ends'][0], r['ends'][1]"),
        ("for p in pair(x): pass", "map a task over it, as in f.map(x)"),
        ("list(pair(x))", "map a task over it, as in f.map(x)"),
    ],
)
def test_unpacking_and_loops_get_the_advice_that_fits(line: str, advice: str) -> None:
    names: dict[str, Any] = {}
    exec(f"from turnout import task, workflow\n@task\ndef pair(x): ...\n@workflow\ndef flow(x):\n    {line}\n", names)
    with pytest.raises(NotYetAValue) as caught:
        _ = names["flow"].spec
    assert caught.value.message.endswith(f"Instead, {advice}") or advice in caught.value.message.partition("Instead")[2]
