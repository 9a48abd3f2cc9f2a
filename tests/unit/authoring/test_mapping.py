"""What ``.map`` and ``.partial`` draw, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from turnout import Context, Workflow, task, task_failed, workflow
from turnout.errors import DefinitionError, InvalidWorkflow, NotYetAValue
from turnout.model.spec import FromParam, FromTask, Literally, Mapped, TaskSpec
from turnout.rendering.text import text_diagram


@task
def numbers(count: int) -> list[int]:
    return list(range(count))


@task
def scale(number: int, rate: int = 1) -> int:
    return number * rate


@task
def limited(number: int, max_parallel: int = 0) -> int:
    return number


def drawn(function: Callable[..., Any]) -> dict[str, TaskSpec]:
    return {each.name: each for each in workflow(function).spec.tasks}


def test_a_map_is_one_node_that_goes_through_its_lists() -> None:
    def flow(rates: list[int]) -> Any:
        return scale.map(numbers(3), rate=rates, max_parallel=4, return_exceptions=True)

    spec = drawn(flow)["scale"]
    assert spec.map == Mapped((0, "rate"), 4, True)
    assert (spec.args, spec.kwargs) == ((FromTask("numbers"),), {"rate": FromParam("rates")})
    assert spec.depends_on == ("numbers",)


def test_fixed_arguments_are_given_with_partial_and_may_be_placeholders() -> None:
    def flow(rate: int) -> Any:
        return scale.partial(rate=rate).map([1, 2])

    spec = drawn(flow)["scale"]
    assert spec.map == Mapped((0,))
    assert (spec.args, spec.kwargs) == ((Literally([1, 2]),), {"rate": FromParam("rate")})


def test_positional_fixed_arguments_come_first() -> None:
    def flow(rates: list[int]) -> Any:
        return scale.partial(5).map(rates)

    assert drawn(flow)["scale"].map == Mapped((1,))


def test_a_partial_task_can_be_called_too() -> None:
    assert scale.partial(rate=3)(2) == 6

    def flow(number: int) -> Any:
        return scale.partial(rate=3)(number)

    assert drawn(flow)["scale"].kwargs == {"rate": Literally(3)}


def test_options_names_and_order_compose_with_map() -> None:
    def flow() -> Any:
        first = numbers(1)
        return scale.named("by-two").options(retries=2).after(first).partial(rate=2).map([1])

    spec = drawn(flow)["by-two"]
    assert (spec.retry.attempts, spec.depends_on, spec.map) == (3, ("numbers",), Mapped((0,)))


def test_a_map_of_a_map_follows_it_item_by_item() -> None:
    def flow(items: list[int]) -> Any:
        return scale.map(scale.map(items))

    tasks = drawn(flow)
    assert (tasks["scale"].map, tasks["scale-2"].map) == (Mapped((0,)), Mapped((0,), piped=("scale",)))


def test_whoever_needs_the_whole_waits_for_the_whole() -> None:
    def after(items: list[int]) -> Any:
        first = scale.map(items)
        return scale.after(first).map(first)

    def rule(items: list[int]) -> Any:
        first = scale.map(items)
        return scale.options(trigger_rule=task_failed(first)).map(first)

    def fixed(items: list[int]) -> Any:
        first = scale.map(items)
        return scale.partial(rate=first[0]).map(first)

    for flow in (after, rule, fixed):
        assert drawn(flow)["scale-2"].map == Mapped((0,))


def test_a_loop_over_a_placeholder_names_map_as_the_way_out() -> None:
    def flow(items: list[int]) -> Any:
        return [scale(item) for item in items]

    with pytest.raises(NotYetAValue, match=r"f\.map\(x\)"):
        drawn(flow)


@pytest.mark.parametrize(
    ("call", "code", "said"),
    [
        (lambda: scale.map(5), "not_a_list", "list 1 of scale.map(…) is a value of type int"),
        (lambda: scale.map([1], rate="abc"), "not_a_list", "'rate' of scale.map(…) is a value of type str"),
        (lambda: scale.map(), "not_a_list", "needs a list"),
        (lambda: scale.map([1], speed=[1]), "bad_call", "speed"),
        (lambda: scale.map([1], [2], [3]), "bad_call", "too many"),
        (lambda: scale.map([1], max_parallel=0), "bad_max_parallel", "whole number from 1"),
        (lambda: limited.map([1], max_parallel=2), "ambiguous_option", ".partial(max_parallel=…)"),
    ],
)
def test_a_map_that_cannot_work_is_refused_with_the_way_out(call: Callable[[], Any], code: str, said: str) -> None:
    def flow() -> Any:
        return call()

    with pytest.raises(DefinitionError) as caught:
        drawn(flow)
    assert caught.value.code == code
    assert said in str(caught.value)


def test_a_parameter_with_the_name_of_an_option_is_given_by_position_or_fixed() -> None:
    def flow() -> Any:
        return [limited.map([1], [2]), limited.partial(max_parallel=3).map([1])]

    tasks = drawn(flow)
    assert (tasks["limited"].map, tasks["limited-2"].map) == (Mapped((0, 1)), Mapped((0,)))
    assert tasks["limited-2"].kwargs == {"max_parallel": Literally(3)}


def test_map_belongs_into_a_workflow_function() -> None:
    with pytest.raises(InvalidWorkflow) as caught:
        scale.map([1])
    assert caught.value.code == "map_outside"


def test_map_is_not_available_in_context_style() -> None:
    @task
    def load(context: Context) -> None: ...

    with pytest.raises(InvalidWorkflow, match="Context style"):
        Workflow("etl", tasks=[load.map([1])])

    def mixed() -> Any:
        return load.map([1])

    with pytest.raises(InvalidWorkflow) as caught:
        drawn(mixed)
    assert caught.value.code == "mixed_styles"


def test_a_workflow_that_maps_nothing_is_written_as_it_always_was() -> None:
    def flow() -> Any:
        return numbers(1)

    assert b'"map"' not in msgspec.json.encode(workflow(flow).spec)


def test_a_picture_shows_a_mapped_task_as_such() -> None:
    def flow(items: list[int]) -> Any:
        return numbers.named("end")(scale.map(items))

    assert text_diagram(workflow(flow).spec) == "scale[…] ──┐\nend      ◄─┘"


def test_a_misspelled_option_of_map_is_named() -> None:
    @task
    def double(number: int) -> int:
        return 2 * number

    @workflow
    def flow(numbers: list[int]) -> list[int]:
        return double.map(numbers, max_paralel=3)

    with pytest.raises(
        InvalidWorkflow, match=r"double\.map\(…, max_paralel=…\).*did you mean 'max_parallel'\?"
    ) as caught:
        _ = flow.spec
    assert (caught.value.code, caught.value.fields["option"]) == ("unknown_option", "max_paralel")
