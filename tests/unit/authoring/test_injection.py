"""Parameters that a run fills, by annotation, with and without the default ``injected()``."""

from __future__ import annotations

from typing import Any

import pytest

from turnout import Context, TaskInfo, Workflow, injected, task, workflow
from turnout.errors import InvalidWorkflow, NotInjected
from turnout.testing import run_inline


@task
def with_default(number: int, info: TaskInfo = injected()) -> str:
    return f"{info.name} {number} {info.attempt}"


@task
def without_default(number: int, info: TaskInfo) -> str:
    return f"{info.name} {number} {info.attempt}"


@task
async def later(info: TaskInfo = injected()) -> str:
    return info.name


@task
def counts(context: Context = injected()) -> None:
    context["count"] = context["count"] + 1


def test_a_parameter_with_the_default_is_filled_like_one_without() -> None:
    @workflow
    def both() -> list[Any]:
        undefaulted: Any = without_default
        return [with_default(1), undefaulted(2), later()]

    assert run_inline(both) == ["with_default 1 1", "without_default 2 1", "later"]


def test_a_context_with_the_default_is_filled() -> None:
    assert run_inline(Workflow("counting", tasks=[counts]), {"count": 1}) == {"count": 2}


def test_a_body_called_outside_of_a_run_is_told_that_nothing_was_injected() -> None:
    for use in (lambda: with_default(1), lambda: counts()):
        with pytest.raises(NotInjected, match="TaskInfo") as refused:
            use()
        assert refused.value.code == "not_injected"


def test_what_is_given_outside_of_a_run_is_used() -> None:
    info = TaskInfo(run_id="r", task_id="t", task_name="n", name="mine", attempt=3, max_attempts=3)
    assert with_default(1, info) == "mine 1 3"


def test_the_default_without_an_annotation_that_says_what_is_refused() -> None:
    def body(number: int, info: int = injected()) -> None: ...

    with pytest.raises(InvalidWorkflow, match="'info'") as refused:

        @workflow
        def broken() -> None:
            task(body)(1)

        _ = broken.spec
    assert refused.value.code == "bad_injection"


def test_the_default_says_in_a_signature_what_it_is() -> None:
    assert repr(injected()) == "injected()"
