"""Hooks as they are written: where they stand in the spec, what they may take, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from turnout import Context, RunOutcome, TaskInfo, Workflow, always, task, workflow
from turnout.authoring.registry import Registry
from turnout.errors import InvalidWorkflow
from turnout.model.rows import NewRun
from turnout.model.spec import Hook


@task
def one() -> int:
    return 1


@task(retries=2, timeout="5s")
def notify(outcome: RunOutcome) -> None: ...


@task
def tidy() -> None: ...


def hooked(**options: Any) -> Workflow[..., Any]:
    @workflow(name="hooked", **options)
    def made() -> int:
        return one()

    return made


def test_hooks_come_after_all_tasks_with_their_own_options() -> None:
    @task(on_exit=[tidy, tidy])
    def two(number: int) -> int:
        return number

    @workflow(on_success=notify, on_exit=tidy)
    def drawn() -> int:
        return two(two(one()))

    assert [(each.name, each.hook) for each in drawn.spec.tasks] == [
        ("one", None),
        ("two", None),
        ("two-2", None),
        ("two.on_exit.tidy", Hook("exit", "two")),
        ("two.on_exit.tidy-2", Hook("exit", "two")),
        ("two-2.on_exit.tidy", Hook("exit", "two-2")),
        ("two-2.on_exit.tidy-2", Hook("exit", "two-2")),
        ("on_success.notify", Hook("success", takes_outcome=True)),
        ("on_exit.tidy", Hook("exit")),
    ]
    told = drawn.spec.tasks[-2]
    assert (told.retry.attempts, told.timeout, told.depends_on) == (3, 5.0, ())
    assert told.full_name == "public::embedded::drawn::on_success.notify"


def test_a_workflow_without_hooks_is_the_version_that_it_was() -> None:
    assert hooked().spec.version() == hooked(on_exit=None, on_success=[]).spec.version()
    assert hooked().spec.version() != hooked(on_exit=tidy).spec.version()


def test_the_registry_finds_the_body_of_a_hook() -> None:
    made = hooked(on_exit=tidy)
    registry = Registry()
    spec = registry.add(made)
    run = NewRun(run_id="run", workflow=spec.full_name, version="v", input="{}", created_at=0.0)
    assert registry.find(run, spec.tasks[-1]) is tidy


def test_a_plain_function_may_be_a_hook_and_info_is_no_outcome() -> None:
    def plain(info: TaskInfo) -> None: ...

    def optional(outcome: Any = None) -> None: ...

    def anything(*outcome: Any) -> None: ...

    hooks = [each.hook for each in hooked(on_exit=[plain, optional, anything]).spec.tasks[1:]]
    assert [hook and hook.takes_outcome for hook in hooks] == [False, True, True]


def two_arguments(outcome: Any, more: Any) -> None: ...
def by_name(*, outcome: Any) -> None: ...
def with_context(context: Context) -> None: ...


@pytest.mark.parametrize(
    ("hook", "says"),
    [
        (two_arguments, "takes 'outcome', 'more'"),
        (by_name, "takes 'outcome'"),
        (with_context, "Context"),
        ("notify", "give a task"),
        ([tidy, 3], "give a task"),
        (tidy.after(one), ".after"),
        (tidy.options(trigger_rule=always()), "trigger_rule"),
        (tidy.options(on_exit=one), "on_exit"),
        (tidy.options(depends_on=["one"]), "depends_on"),
    ],
)
def test_what_cannot_be_a_hook_is_refused(hook: Any, says: str) -> None:
    with pytest.raises(InvalidWorkflow, match=says) as caught:
        _ = hooked(on_failure=hook).spec
    assert caught.value.code == "bad_hook"
    assert "on_failure of workflow 'hooked'" in caught.value.message


def test_no_other_task_is_named_like_a_hook() -> None:
    @workflow
    def confusing() -> int:
        return one.named("on_exit.tidy")()

    with pytest.raises(InvalidWorkflow, match="only a hook") as caught:
        _ = confusing.spec
    assert caught.value.code == "bad_identifier"


def test_a_workflow_of_hooks_alone_is_empty() -> None:
    with pytest.raises(InvalidWorkflow) as caught:
        _ = Workflow("nothing", tasks=[], on_exit=tidy).spec
    assert caught.value.code == "empty_workflow"
