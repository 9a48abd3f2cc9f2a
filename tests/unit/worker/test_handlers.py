"""What a worker finds in the modules that it imports, and how a step becomes a call."""

from __future__ import annotations

from decimal import Decimal
from types import ModuleType
from typing import Any

import pytest
from unit.wire.network import step

from turnout import TaskInfo, remote, shell, task, workflow
from turnout.errors import DefinitionError
from turnout.runtime.execution import info_for
from turnout.worker import Handlers, Step, handler, run_step
from turnout.worker.step_loader import HandlerMissing, StepLoader


@task
def charge(amount: int) -> int:
    return amount


@handler("Shop::Ship", version="1.2")
@task(retry_if=lambda error: False)
def ship(order: str, step: Step, info: TaskInfo, express: bool = False) -> Any:
    return [order, express, step.handler_config, info.attempt]


@handler("Shop::Count")
@handler("Shop::CountAll")
def count(step: Step, *items: int) -> Any:
    return [list(items), step.token]


class Anything:
    """As objects of some libraries are: every name is there."""

    def __getattr__(self, name: str) -> Any:
        return self

    def __call__(self) -> None: ...


def module(**content: Any) -> ModuleType:
    made = ModuleType("made")
    vars(made).update(content)
    return made


def called(handlers: Handlers, name: str, **metadata: Any) -> Any:
    work = StepLoader(handlers, None).put(step("a.1", handler=name, **metadata))
    return work.invoke(info_for(work, 0.0))


def test_tasks_are_found_under_their_references_and_handlers_under_their_names() -> None:
    @workflow
    def flow(amount: int) -> int:
        return charge(amount)

    there = module(
        flow=flow, ship=ship, count=count, echo=shell(["echo"]), far=remote("far", handler="X"), any=Anything()
    )
    handlers = Handlers([there])
    assert set(handlers.names) == {
        *("Shop::Ship", "Shop::Count", "Shop::CountAll", "turnout.shell", "turnout.step"),
        *(charge.ref, ship.ref),
    }
    found = handlers.find("Shop::Ship")
    assert found is not None and found.version == "1.2" and found.retry_if is ship.retry_if
    assert not {"turnout.shell", "turnout.step"} & {*Handlers([there], shell=False).names}


def test_two_functions_of_one_name_are_refused() -> None:
    handlers = Handlers()
    handlers.add("X", charge)
    handlers.add("X", charge)
    with pytest.raises(DefinitionError, match="two functions are the handler 'X'") as caught:
        handlers.add("X", count)
    assert caught.value.code == "duplicate_handler"


def test_a_handler_has_a_name() -> None:
    with pytest.raises(DefinitionError):
        handler("")


def test_arguments_come_by_name_and_what_is_annotated_is_filled() -> None:
    handlers = Handlers([module(ship=ship)])
    assert called(handlers, "Shop::Ship", args={"order": "a", "express": True}) == ["a", True, {}, 1]


def test_a_step_is_given_also_beside_positional_arguments() -> None:
    handlers = Handlers([module(count=count)])
    assert called(handlers, "Shop::Count", positional=(1, 2)) == [[1, 2], "a.1"]
    assert called(handlers, "Shop::CountAll") == [[], "a.1"]


def test_annotations_convert_what_came_as_json() -> None:
    def pay(amount: Decimal) -> str:
        return repr(amount)

    handlers = Handlers()
    handlers.add("pay", pay)
    assert called(handlers, "pay", args={"amount": "1.50"}) == "Decimal('1.50')"


def test_a_handler_that_is_not_here_is_missing() -> None:
    with pytest.raises(HandlerMissing):
        called(Handlers(shell=False), "turnout.shell")


def test_one_function_is_tried_with_as_little_of_a_document_as_it_needs() -> None:
    def ship(order: str, step: Step, info: TaskInfo) -> list[Any]:
        return [order, step.handler_class, step.task_context, info.attempt]

    document = {"task_context": {"x": 1}, "metadata": {"args": {"order": "a"}}}
    assert run_step(ship, document).output == ["a", "handler", {"x": 1}, 1]
    assert run_step(ship, {**document, "handler_class": "Shop::Ship"}).output == ["a", "Shop::Ship", {"x": 1}, 1]
    failed = run_step(ship)
    assert failed.status == "failed" and failed.error is not None and "order" in failed.error.message
    assert run_step(len, {"metadata": {"positional": ["four"]}}).output == 4


def test_one_task_is_tried_with_its_own_say_about_retries() -> None:
    @task(retry_if=lambda error: False)
    def number(text: str) -> int:
        return int(text)

    failed = run_step(number, {"metadata": {"args": {"text": "x"}}})
    assert (failed.status, failed.metadata.retryable) == ("failed", False)


def test_a_step_document_is_answered_without_sockets() -> None:
    handlers = Handlers([module(charge=charge, ship=ship)])
    document = {
        "step_id": "1",
        "task_id": "r",
        "step_name": "ship",
        "handler_class": "Shop::Ship",
        "handler_config": {"carrier": "sea"},
        "metadata": {"token": "1.1", "attempt": 2, "args": {"order": "a"}},
    }
    done = run_step(handlers, document)
    assert (done.status, done.output) == ("completed", ["a", False, {"carrier": "sea"}, 3])
    assert (done.metadata.token, done.metadata.attempt, done.metadata.handler_version) == ("1.1", 2, "1.2")
    failed = run_step(handlers, {**document, "metadata": {"token": "1.2"}})
    assert failed.status == "failed" and not failed.metadata.retryable, "ship's retry_if says no"
    assert run_step(handlers, {**document, "handler_class": "turnout.shell"}).status == "failed", "no command"
    command = {**document, "handler_class": "turnout.shell", "handler_config": {"command": ["true"]}}
    missing = run_step(handlers, command)
    assert (
        missing.metadata.outcome == run_step(handlers, step("b.1", handler="no")).metadata.outcome == "handler_missing"
    )
