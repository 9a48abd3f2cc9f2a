"""Workflows in Context style: each task gets an object, changes it, and leaves it to those that depend on it."""

from __future__ import annotations

import pytest

from turnout import Context, TaskInfo, Workflow, context_value, task, task_failed
from turnout.errors import RunFailed

pytestmark = pytest.mark.timeout(60)


@task
def extract(context: Context) -> None:
    context["rows"] = [1, 2, 3]


@task(depends_on=[extract])
def total(context: Context) -> dict[str, int]:
    return {"total": sum(context["rows"])}


@task(depends_on=["extract"])
async def count(context: Context, info: TaskInfo) -> None:
    context["count"] = len(context["rows"])
    context["by"] = info.task_name.rpartition("::")[2]


@task(depends_on=[total, count])
def report(context: Context) -> Context:
    context["text"] = f"{context['source']}: {context['count']} rows, {context['total']} in all"
    return context


def test_tasks_without_dependencies_get_the_input_and_the_result_merges_the_leaves(runner):
    etl = Workflow("etl", tasks=[extract, total, count, report])
    assert runner.run(etl, {"source": "shop"}) == {
        "source": "shop",
        "rows": [1, 2, 3],
        "total": 6,
        "count": 3,
        "by": "count",
        "text": "shop: 3 rows, 6 in all",
    }


def test_parallel_leaves_are_merged_and_none_is_lost(sqlite_runner):
    etl = Workflow("etl", tasks=[extract, total, count])
    result = sqlite_runner.run(etl, source="shop")
    assert (result["total"], result["count"], result["source"]) == (6, 3, "shop")


def test_objects_merge_deep_lists_join_and_for_scalars_the_last_wins(sqlite_runner):
    @task
    def left(context: Context) -> None:
        context.update(tree={"a": 1, "both": 1}, items=["x", "y"], word="left")

    @task
    def right(context: Context) -> None:
        context.update(tree={"b": 2, "both": 2}, items=["y", "z"], word="right")

    merged = Workflow("merged", tasks=[left, right])
    assert sqlite_runner.run(merged) == {"tree": {"a": 1, "b": 2, "both": 2}, "items": ["x", "y", "z"], "word": "right"}


def test_a_second_attempt_gets_the_context_as_the_first_one_did(sqlite_runner):
    seen: list[dict[str, int]] = []

    @task(retries=1)
    def careless(context: Context, info: TaskInfo) -> None:
        seen.append(dict(context))
        context["spoilt"] = 1
        if info.attempt == 1:
            raise ValueError("half done")

    assert sqlite_runner.run(Workflow("careless_flow", tasks=[careless]), {"a": 1}) == {"a": 1, "spoilt": 1}
    assert seen == [{"a": 1}, {"a": 1}]


def test_a_skipped_task_passes_the_context_on(runner):
    @task(depends_on=[extract], trigger_rule=context_value("mode", "==", "full"))
    def enrich(context: Context) -> None:
        context["enriched"] = True

    @task(depends_on=[extract, enrich])
    def finish(context: Context) -> None:
        context["finished"] = True

    flow = Workflow("choosy", tasks=[extract, enrich, finish])
    assert runner.run(flow, mode="quick") == {"mode": "quick", "rows": [1, 2, 3], "finished": True}
    assert runner.run(flow, mode="full") == {"mode": "full", "rows": [1, 2, 3], "enriched": True, "finished": True}


def test_a_failed_dependency_leaves_nothing_and_its_handler_gets_what_it_got(sqlite_runner):
    @task(depends_on=[extract])
    def breaks(context: Context) -> None:
        context["broken"] = True
        raise ValueError("no")

    @task(depends_on=[breaks], trigger_rule=task_failed("breaks"))
    def mend(context: Context) -> None:
        context["mended"] = True

    assert sqlite_runner.run(Workflow("mending", tasks=[extract, breaks, mend]), {}) == {
        "rows": [1, 2, 3],
        "mended": True,
    }


def test_a_task_that_returns_something_else_than_an_object_fails_for_good(sqlite_runner):
    calls: list[int] = []

    @task(retries=3)
    def wrong(context: Context) -> list[int]:
        calls.append(1)
        return [1]

    with pytest.raises(RunFailed) as caught:
        sqlite_runner.run(Workflow("wrong_flow", tasks=[wrong]), {})
    assert "return None, or a dict" in str(caught.value)
    assert calls == [1]
