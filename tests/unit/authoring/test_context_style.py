"""Context style: a list of tasks that share a JSON object."""

from __future__ import annotations

from typing import Any

import pytest

from turnout import Context, TaskInfo, Workflow, task, task_failed
from turnout.errors import InvalidInput, InvalidWorkflow


@task
def extract(context: Context) -> None: ...


@task(depends_on=["extract"])
def transform(context: Context, info: TaskInfo) -> None: ...


@task(depends_on=[extract, transform])
def load(context: Context) -> None: ...


def test_depends_on_takes_names_and_tasks_and_the_list_may_be_in_any_order() -> None:
    spec = Workflow("etl", tasks=[load, extract, transform], package="ml", timeout="1h").spec
    assert [(each.name, each.depends_on) for each in spec.tasks] == [
        ("load", ("extract", "transform")),
        ("extract", ()),
        ("transform", ("extract",)),
    ]
    assert spec.context_style
    assert all(each.uses_context for each in spec.tasks)
    assert spec.result is None
    assert (spec.full_name, spec.timeout) == ("public::ml::etl", 3600.0)


def test_plain_functions_after_and_copies_work_too() -> None:
    def first() -> dict[str, Any]:
        return {}

    def second(context: Context) -> None: ...

    flow = Workflow(
        "w", tasks=[first, task(depends_on=[first])(second), load.named("third").options(depends_on=["second"])]
    )
    assert [each.depends_on for each in flow.spec.tasks] == [(), ("first",), ("second",)]
    assert Workflow("w", tasks=[extract, task(second).after(extract)]).spec.tasks[1].depends_on == ("extract",)


@pytest.mark.parametrize(
    ("tasks", "code"),
    [
        ([], "empty_workflow"),
        ([extract, extract], "duplicate_task"),
        ([transform], "unknown_dependency"),
        ([task(depends_on=[5])(extract.function)], "unknown_dependency"),
        ([task(lambda order: order).named("x")], "mixed_styles"),
        ([extract.options(depends_on=["load"]), transform, load], "cycle"),
        ([extract, load.options(depends_on=[], trigger_rule=task_failed(extract))], "rule_task"),
    ],
)
def test_what_cannot_work_is_refused(tasks: list[Any], code: str) -> None:
    with pytest.raises(InvalidWorkflow) as caught:
        _ = Workflow("etl", tasks=tasks).spec
    assert caught.value.code == code


def test_binding_takes_one_dict_and_keywords() -> None:
    flow = Workflow("etl", tasks=[extract])
    assert flow.bind() == {}
    assert flow.bind({"a": 1}, b=2) == {"a": 1, "b": 2}
    with pytest.raises(InvalidInput):
        flow.bind(5)
