"""Tasks: plain functions outside of workflows, options, names and durations."""

from __future__ import annotations

import asyncio
import os
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout import always, remote, shell, task, task_failed, workflow
from turnout.errors import InvalidWorkflow
from turnout.model.durations import seconds
from turnout.model.retry import RetryPolicy
from turnout.model.spec import TaskSpec


@task
def plain(number: int) -> int:
    "Doubles."
    return 2 * number


@task
async def later(number: int) -> int:
    return 2 * number


def spec_of(some: Any, *args: Any) -> TaskSpec:
    @workflow
    def flow() -> Any:
        some(*args)

    return flow.spec.tasks[0]


def test_outside_a_workflow_a_task_is_its_function() -> None:
    assert plain(4) == 8
    assert asyncio.run(later(4)) == 8  # pyright: ignore
    assert plain.__name__ == "plain"
    assert plain.__doc__ == "Doubles."


def test_with_and_without_parentheses_are_the_same() -> None:
    @task()
    def other(number: int) -> int:
        return number

    assert other(3) == 3
    assert spec_of(other, 1).retry == spec_of(plain, 1).retry == RetryPolicy()


def test_every_option_arrives_in_the_spec() -> None:
    def worth_it(error: BaseException) -> bool:
        return True

    @task(
        name="given",
        retries=3,
        retry_delay="5s",
        backoff="linear",
        max_delay=timedelta(minutes=1),
        jitter=0.25,
        retry_on=[ValueError, "lib.Error"],
        never_on=KeyError,
        retry_if=worth_it,
        timeout="2m",
        priority=7,
        trigger_rule=always(),
        worker_selector={"gpu": "true"},
        executor="process",
    )
    def body() -> None: ...

    spec = spec_of(body)
    assert spec.name == "given"
    assert spec.retry == RetryPolicy(
        4, "linear", 5.0, 60.0, 0.25, ("builtins.ValueError", "lib.Error"), ("builtins.KeyError",)
    )
    assert (spec.timeout, spec.priority, spec.executor) == (120.0, 7, "process")
    assert spec.rule == always()
    assert spec.worker_selector == {"gpu": "true"}
    assert body.retry_if is worth_it
    assert spec.body.ref.startswith(f"{__name__}:")
    assert spec_of(task(at_most_once=True)(lambda: None).named("x")).at_most_once


def test_a_growing_backoff_has_a_delay_of_its_own() -> None:
    assert spec_of(plain.options(retries=1, backoff="exponential"), 1).retry.delay == 1.0


def test_options_are_laid_over_the_earlier_ones_in_a_copy() -> None:
    @task(retries=3, retry_delay=5)
    def body() -> None: ...

    assert spec_of(body.options(retries=1)).retry == RetryPolicy(2, delay=5.0)
    assert spec_of(body).retry == RetryPolicy(4, delay=5.0)


def test_a_full_name_can_be_given_whole() -> None:
    @task(name="gpu::ml::train")
    def body() -> None: ...

    @workflow(package="shop")
    def flow() -> None:
        body()
        body()
        plain(1)

    assert [(each.name, each.full_name) for each in flow.spec.tasks] == [
        ("train", "gpu::ml::train"),
        ("train-2", "gpu::ml::train-2"),
        ("plain", "public::shop::flow::plain"),
    ]
    assert [each.full_name for each in flow.spec_for("acme").tasks][1:] == [
        "gpu::ml::train-2",
        "acme::shop::flow::plain",
    ]


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        ({"retires": 3}, "unknown_option", "did you mean 'retries'"),
        ({"retries": -1}, "bad_retry", "-1"),
        ({"retries": "3"}, "bad_retry", "'3'"),
        ({"retries": True}, "bad_retry", "True"),
        ({"retries": 1.5}, "bad_retry", "1.5"),
        ({"retry_delay": "never"}, "bad_duration", "retry_delay"),
        ({"retry_delay": -1}, "bad_duration", "-1"),
        ({"max_delay": "5 min"}, "bad_duration", "max_delay"),
        ({"retries": 1, "jitter": 2}, "bad_retry", "jitter"),
        ({"jitter": "much"}, "bad_retry", "'much'"),
        ({"backoff": "square"}, "bad_retry", "square"),
        ({"retry_on": 5}, "bad_retry", "5"),
        ({"retry_on": [int]}, "bad_retry", "int"),
        ({"retry_on": "not a name"}, "bad_retry", "retry_on"),
        ({"never_on": [ValueError, 7]}, "bad_retry", "never_on"),
        ({"retry_if": "sometimes"}, "bad_option", "retry_if"),
        ({"timeout": "soon"}, "bad_duration", "'soon'"),
        ({"timeout": 0}, "bad_timeout", "0"),
        ({"priority": "high"}, "bad_priority", "'high'"),
        ({"priority": 10**9}, "bad_priority", "1000000000"),
        ({"trigger_rule": "always"}, "bad_option", "'always'"),
        ({"executor": 5}, "bad_option", "executor"),
        ({"executor": ""}, "bad_option", "executor"),
        ({"at_most_once": "yes"}, "bad_option", "at_most_once"),
        ({"depends_on": "extract"}, "bad_option", "'extract'"),
        ({"name": 5}, "bad_option", "name"),
        ({"worker_selector": {"gpu": 1}}, "bad_worker_selector", "gpu"),
        ({"worker_selector": "gpu"}, "bad_worker_selector", "'gpu'"),
        ({"name": "a b"}, "bad_identifier", "'a b'"),
        ({"retries": 1, "at_most_once": True}, "bad_retry", "at_most_once"),
        ({"trigger_rule": task_failed("nobody")}, "rule_task", "nobody"),
    ],
)
def test_a_wrong_option_is_named(options: dict[str, Any], code: str, says: str) -> None:
    def body() -> None: ...

    with pytest.raises(InvalidWorkflow) as caught:
        spec_of(task(**options)(body))
    assert caught.value.code == code
    assert says in caught.value.message
    if code not in ("unknown_option", "bad_identifier"):
        assert "'body'" in caught.value.message, "the task is named"


def test_a_wrong_value_is_refused_where_it_is_written() -> None:
    with pytest.raises(InvalidWorkflow, match="timeout of task 'plain' is 'soon'"):
        plain.options(timeout="soon")
    with pytest.raises(InvalidWorkflow, match="because the task is at_most_once"):
        task(at_most_once=True)(lambda: None).options(retries=2)
    with pytest.raises(InvalidWorkflow, match="jitter"):
        task(jitter=3)(lambda: None)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (30, 30),
        ("30s", 30),
        ("5m", 300),
        ("1h", 3600),
        ("1h30m", 5400),
        ("1w", 604800),
        ("250ms", 0.25),
        (" 1.5 d ", 129600),
        (0, 0),
    ],
)
def test_durations_can_be_written_in_many_ways(text: Any, value: float) -> None:
    assert seconds(text) == value


@pytest.mark.parametrize("text", ["", "5", "m", "5 minutes", "-5s", -1, float("nan"), float("inf"), True, None, [5]])
def test_what_is_no_duration_is_refused(text: Any) -> None:
    with pytest.raises(InvalidWorkflow, match="write a number of seconds"):
        seconds(text)


@given(st.integers(0, 99), st.integers(0, 59), st.integers(0, 59))
def test_text_and_timedelta_say_the_same(hours: int, minutes: int, rest: int) -> None:
    assert seconds(f"{hours}h{minutes}m{rest}s") == seconds(timedelta(hours=hours, minutes=minutes, seconds=rest))


def test_conditions_are_declared_as_functions_of_modules() -> None:
    @task(conditions=[os.path.exists])
    def load() -> None: ...

    assert load.conditions == {"genericpath:exists": os.path.exists}
    assert list(load.options(conditions=[os.path.isfile]).conditions.values()) == [os.path.isfile]


@pytest.mark.parametrize(
    ("conditions", "said"),
    [
        ([lambda: True], "has no name that another process could find it by"),
        (["os:system"], "give the function itself"),
        (os.path.exists, r"write a list of functions"),
        ([len, 1], r"write a list of functions"),
    ],
)
def test_a_condition_that_cannot_be_declared_is_refused_where_it_is_written(conditions: Any, said: str) -> None:
    with pytest.raises(InvalidWorkflow, match=f"conditions of task 'load'.*{said}"):

        @task(conditions=conditions)
        def load() -> None: ...


def test_a_command_has_no_conditions() -> None:
    with pytest.raises(InvalidWorkflow, match="a command cannot defer itself"):
        shell("true", conditions=[os.path.exists])


def test_a_remote_task_names_the_conditions_of_its_handler() -> None:
    ship = remote("ship", handler="Shop::Ship", conditions=["stock:arrived", os.path.exists])
    assert ship.body.conditions == ("stock:arrived", "genericpath:exists") and not ship.conditions
    assert remote("ship", handler="Shop::Ship").body.conditions == ()
    with pytest.raises(InvalidWorkflow, match="has no name"):
        remote("ship", handler="Shop::Ship", conditions=["arrived"])
