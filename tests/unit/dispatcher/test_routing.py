"""Rules as values, and the router."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout.dispatcher import InvalidRouting, Router, RoutingConfig, RoutingRule

NAME = "public::embedded::flow::step"


def test_with_rule_leaves_the_original_alone() -> None:
    first = RoutingConfig("default")
    second = first.with_rule(RoutingRule("**::ml::*", "gpu"))
    assert first.rules == ()
    assert second.default_executor == "default"
    assert [(rule.task_pattern, rule.executor) for rule in second.rules] == [("**::ml::*", "gpu")]


def test_a_config_survives_json() -> None:
    config = RoutingConfig(
        "threads", (RoutingRule("a::*", "gpu", {"gpu": "true"}, 12.5), RoutingRule("**", "new", shadow=True))
    )
    assert msgspec.json.decode(msgspec.json.encode(config), type=RoutingConfig) == config


def test_the_first_match_wins() -> None:
    router = Router(RoutingConfig("default", (RoutingRule("**::step", "one"), RoutingRule("**", "two"))))
    assert router.resolve(NAME) == "one"
    assert router.resolve("public::embedded::flow::other") == "two"
    assert Router(RoutingConfig("default")).resolve(NAME) == "default"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"pattern": "a:b", "executor": "x"}, "malformed_pattern"),
        ({"pattern": "**", "executor": ""}, "bad_rule"),
        ({"pattern": "**", "executor": "x", "percent": 101}, "bad_rule"),
        ({"pattern": "**", "executor": "x", "percent": -1}, "bad_rule"),
        ({"pattern": "**", "executor": "x", "percent": float("nan")}, "bad_rule"),
    ],
)
def test_a_rule_that_cannot_work_is_refused_when_it_is_made(arguments: dict[str, object], code: str) -> None:
    with pytest.raises(InvalidRouting) as caught:
        RoutingRule(**arguments)  # pyright: ignore[reportArgumentType]
    assert caught.value.code == code


@given(run_id=st.uuids().map(str), percent=st.floats(0, 100), more=st.floats(0, 100))
def test_a_run_stays_in_a_share_that_grows(run_id: str, percent: float, more: float) -> None:
    low, high = sorted((percent, more))
    if RoutingRule("**", "gpu", percent=low).applies_to(run_id):
        assert RoutingRule("**", "gpu", percent=high).applies_to(run_id)


def test_a_share_is_stable_and_about_right() -> None:
    runs = [f"run-{number}" for number in range(10_000)]
    rule = RoutingRule("**", "gpu", percent=25)
    chosen = {run for run in runs if rule.applies_to(run)}
    assert chosen == {run for run in runs if RoutingRule("**", "gpu", percent=25).applies_to(run)}
    assert 2_300 < len(chosen) < 2_700
    # Written down, so that another version or machine sends the same runs the same way.
    assert [run for run in runs[:20] if run in chosen] == [
        "run-0",
        "run-2",
        "run-3",
        "run-9",
        "run-11",
        "run-12",
        "run-13",
        "run-17",
    ]


def test_the_ends_of_the_scale_are_none_and_all() -> None:
    runs = [f"run-{number}" for number in range(1_000)]
    assert not any(RoutingRule("**", "gpu", percent=0).applies_to(run) for run in runs)
    assert all(RoutingRule("**", "gpu", percent=100).applies_to(run) for run in runs)


def test_two_half_shares_on_one_pattern_are_independent() -> None:
    router = Router(RoutingConfig("rest", (RoutingRule("**", "a", percent=50), RoutingRule("**", "b", percent=50))))
    went = [route.rule.executor if (route := router.match(NAME, f"run-{n}")) else "rest" for n in range(4_000)]
    assert 1_850 < went.count("a") < 2_150
    assert 850 < went.count("b") < 1_150


def test_without_a_run_a_share_does_not_decide() -> None:
    router = Router(RoutingConfig("default", (RoutingRule("**", "gpu", percent=99),)))
    assert router.resolve(NAME) == "default"


def test_a_shadow_never_decides() -> None:
    router = Router(RoutingConfig("default", (RoutingRule("**", "new", shadow=True), RoutingRule("**", "old"))))
    assert router.resolve(NAME) == "old"
    assert [route.rule.executor for route in router.shadows(NAME, "run")] == ["new"]
