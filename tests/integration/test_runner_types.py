"""Types end to end, through real databases: inputs, what tasks hand one another, results, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import msgspec
import pydantic
import pytest

from turnout import Runner, TaskInfo, register_type, task, workflow
from turnout.errors import InvalidInput, RunFailed, WrongType
from turnout.model.states import TaskState
from turnout.runner import EngineSettings, Poller

if TYPE_CHECKING:
    from somewhere import Thing  # pyright: ignore

pytestmark = pytest.mark.timeout(60)

NOTHING = {"run": 0, "task": 0, "history": 0, "command": 0, "inbox": 0}


class Size(Enum):
    SMALL = "s"
    LARGE = "l"


@dataclass
class Line:
    item: str
    price: Decimal
    size: Size = Size.SMALL


@dataclass
class Order:
    id: UUID
    lines: list[Line]
    placed: datetime
    tags: set[str] = field(default_factory=set)
    note: str = ""


class Payment(pydantic.BaseModel):
    order: UUID
    amount: Decimal
    within: timedelta


class Parcel(msgspec.Struct):
    label: bytes
    path: Path


class Weight:
    def __init__(self, grams: int) -> None:
        self.grams = grams


register_type(Weight, dump=lambda weight: weight.grams, load=Weight)


@dataclass
class Receipt:
    order: Order
    payment: tuple[Decimal, timedelta]
    label: bytes


ORDER = Order(
    UUID(int=5),
    [Line("tea", Decimal("4.10")), Line("cup", Decimal("9.00"), Size.LARGE)],
    datetime(2024, 5, 1, tzinfo=UTC),
    {"b", "a"},
)


@task
def charge(order: Order, limit: Decimal) -> Payment:
    amount = sum((line.price for line in order.lines), Decimal(0))
    assert amount <= limit
    return Payment(order=order.id, amount=amount, within=timedelta(days=2))


@task
async def weigh(lines: list[Line]) -> Weight:
    return Weight(sum(100 if line.size is Size.LARGE else 10 for line in lines))


@task
def pack(order: Order, weight: Weight, *, padding: str = "") -> Parcel:
    return Parcel(f"{order.id.int} {weight.grams} {sorted(order.tags)}{padding}".encode(), Path("/parcels") / "5")


@task
def receipt(order: Order, payment: Payment, parcel: Parcel) -> Receipt:
    assert isinstance(parcel.path, Path)
    return Receipt(order, (payment.amount, payment.within), parcel.label)


@workflow
def fulfil(order: Order, limit: Decimal = Decimal(100), padding: str = "") -> Receipt:
    payment = charge(order, limit)
    parcel = pack(order, weigh(order.lines), padding=padding)
    return receipt(order, payment, parcel)


def expected(padding: str = "") -> Receipt:
    label = f"5 110 ['a', 'b']{padding}".encode()
    return Receipt(ORDER, (Decimal("13.10"), timedelta(days=2)), label)


def test_values_of_all_types_go_through_a_run(runner: Runner) -> None:
    assert runner.run(fulfil, ORDER) == expected()


def test_large_values_go_through_the_store(runner: Runner) -> None:
    padding = "x" * 5000
    assert runner.run(fulfil, ORDER, padding=padding) == expected(padding)


def test_input_may_be_given_as_json_of_the_same_shape(runner: Runner) -> None:
    given = {
        "id": str(UUID(int=5)),
        "lines": [{"item": "tea", "price": "4.10"}, {"item": "cup", "price": 9, "size": "l"}],
        "placed": "2024-05-01T00:00:00Z",
        "tags": ["a", "b"],
    }
    found = runner.submit_with(fulfil, input={"order": given, "limit": "50"}).result(20)
    assert found.order.lines[1].size is Size.LARGE
    assert found.payment == (Decimal("13.10"), timedelta(days=2))


def test_the_stored_input_is_complete(runner: Runner, store_url: str, query: Any) -> None:
    runner.run(fulfil, ORDER)
    [(stored,)] = query(store_url, "select input from run")
    found = stored if isinstance(stored, dict) else msgspec.json.decode(stored)
    assert found["order"]["note"] == "" and found["order"]["lines"][0]["size"] == "s"
    assert found["limit"] == "100"


def test_pollers_that_read_everything_from_the_store_convert_too(make_runner: Any, store_url: str) -> None:
    runner = make_runner(dispatcher=None, workflows=[fulfil])
    poller = Poller(store_url, workflows=[fulfil])
    try:
        assert runner.run(fulfil, ORDER) == expected()
    finally:
        poller.close(1.0)


def test_a_run_that_another_runner_takes_over_keeps_its_types(make_runner: Any, gate: Any) -> None:
    @task
    def held(order: Order, info: TaskInfo) -> Order:
        if info.attempt == 1:
            gate.pass_through()
        return order

    @workflow
    def adopted(order: Order) -> Receipt:
        kept = held(order)
        return receipt(kept, charge(kept, Decimal(20)), pack(kept, weigh(kept.lines)))

    before = make_runner(workflows=[adopted])
    run_id = before.submit(adopted, ORDER).id
    assert gate.reached()
    before.close(timeout=0.1)
    gate.open()
    after = make_runner(workflows=[adopted], settings=EngineSettings(sweep=0.2, stop_grace=1.0))
    assert after.get(run_id).result(20) == expected()


def test_another_process_that_has_the_workflow_gives_the_same_result(make_runner: Any) -> None:
    run_id = make_runner().submit(fulfil, ORDER).id
    assert make_runner(workflows=[fulfil]).get(run_id).result(20) == expected()
    assert make_runner().get(run_id).result(20)["payment"] == ["13.10", "P2D"], "without the code it stays JSON"


@contextmanager
def refused(runner: Runner, rows_in: Any) -> Iterator[Any]:
    with pytest.raises(InvalidInput) as caught:
        yield caught
    assert rows_in(runner.url) == NOTHING, "nothing was written"


def test_wrong_input_is_refused_before_anything_runs_and_all_of_it_is_named(runner: Runner, rows_in: Any) -> None:
    with refused(runner, rows_in) as caught:
        runner.submit_with(fulfil, input={"order": {"id": "five", "lines": []}, "limit": "much", "padding": 3, "q": 1})
    error = caught.value
    assert error.code == "invalid_input"
    assert [(each.code, each.parameter) for each in error.fields["problems"]] == [
        ("unknown_parameter", "q"),
        ("invalid_parameter", "order"),
        ("invalid_parameter", "limit"),
        ("invalid_parameter", "padding"),
    ]
    for words in ("'fulfil'", "'order'", "must be Order", "(dict)", "must be Decimal", "must be str, but 3 (int)"):
        assert words in error.message


def test_plain_types_are_checked_at_submission_too(runner: Runner, rows_in: Any) -> None:
    @task
    def use(amount: int, names: list[str]) -> int:
        return amount

    @workflow
    def plainly(amount: int, names: list[str], share: float = 0.5) -> int:
        return use(amount, names)

    with refused(runner, rows_in) as caught:
        runner.submit(plainly, "abc", [])  # pyright: ignore
    assert caught.value.code == "invalid_parameter"
    assert "'amount'" in caught.value.message and "'abc' (str)" in caught.value.message
    with refused(runner, rows_in):
        runner.submit(plainly, 1, ["a", 2])  # pyright: ignore
    assert runner.run(plainly, 1, ["a"], 2) == 1


def test_the_same_typed_input_is_the_same_input_for_an_idempotency_key(runner: Runner) -> None:
    one = runner.submit_with(fulfil, ORDER, key="k")
    other = msgspec.json.decode(msgspec.json.encode(ORDER))
    assert runner.submit_with(fulfil, input={"order": other}, key="k").id == one.id
    one.result(20)


@task(retries=5)
def gives(value: Any) -> Any:
    return value


@task(retries=5)
def wants(order: Order, info: TaskInfo) -> Any:
    return order.id


@workflow
def mismatched(value: Any) -> Any:
    return wants(gives(value))


@pytest.mark.parametrize(
    ("value", "kind", "hint"),
    [({"id": 1}, "dict", "$.id"), ("text", "str", "change the annotation"), (None, "NoneType", "Order | None")],
)
def test_an_argument_that_does_not_fit_fails_the_task_at_once(runner: Runner, value: Any, kind: str, hint: str) -> None:
    run = runner.submit(mismatched, value)
    with pytest.raises(RunFailed) as caught:
        run.result(20)
    [failure] = caught.value.fields["failures"]
    assert (failure.task, failure.type, failure.code, failure.attempts) == ("wants", "WrongType", "wrong_type", 1)
    for words in ("'order'", "public::embedded::mismatched::wants", "must be Order", f"type {kind}", hint):
        assert words in failure.message
    assert [each.state for each in run.tasks()] == [TaskState.COMPLETED, TaskState.FAILED]


def test_an_output_that_nobody_can_convert_names_task_type_and_ways_out(runner: Runner) -> None:
    class Local:
        pass

    @task(retries=5)
    def makes() -> Any:
        return {"deep": [Local()]}

    @workflow
    def unconvertible() -> Any:
        return makes()

    with pytest.raises(RunFailed) as caught:
        runner.run(unconvertible)
    [failure] = caught.value.fields["failures"]
    assert (failure.task, failure.code, failure.attempts) == ("makes", "not_json", 1)
    for words in ("::makes", "Local", "register_type", "dict"):
        assert words in failure.message


def test_a_result_that_does_not_fit_says_so_and_has_the_value(runner: Runner) -> None:
    @workflow
    def promising(value: Any) -> Order:
        return gives(value)

    run = runner.submit(promising, {"id": 1})
    with pytest.raises(WrongType, match="Order is expected") as caught:
        run.result(20)
    assert caught.value.fields["value"] == {"id": 1}
    assert runner.run(promising, None) is None, "what a result is made of may have been skipped"


def test_an_annotation_that_cannot_be_resolved_leaves_json(runner: Runner) -> None:
    @task
    def uses(thing: Thing, order: Order) -> tuple[Any, UUID]:
        return thing["a"], order.id

    @workflow
    def unresolved(thing: Thing, order: Order) -> tuple[int, UUID]:
        return uses(thing, order)

    assert runner.run(unresolved, {"a": 1}, ORDER) == (1, UUID(int=5))


def test_a_rerun_checks_its_new_input(runner: Runner) -> None:
    run = runner.submit(fulfil, ORDER)
    run.result(20)
    with pytest.raises(InvalidInput, match="must be Decimal"):
        run.rerun(from_task="charge", input={"limit": "much"})
    assert run.rerun(from_task="charge", input={"limit": Decimal(50)}).result(20) == expected()


def test_literals_and_defaults_in_a_workflow_may_have_types(runner: Runner) -> None:
    @task
    def describe(size: Size, when: datetime, parts: tuple[int, ...], rest: dict[str, Line]) -> str:
        return f"{size.name} {when:%Y} {parts} {rest['a'].price}"

    @workflow
    def literal(size: Size = Size.LARGE) -> str:
        return describe(size, datetime(2024, 1, 1, tzinfo=UTC), (1, 2), {"a": Line("tea", Decimal("1.5"))})

    assert runner.run(literal) == "LARGE 2024 (1, 2) 1.5"
    assert runner.run(literal, Size.SMALL) == "SMALL 2024 (1, 2) 1.5"


def test_variable_arguments_are_converted_one_by_one(runner: Runner) -> None:
    @task
    def join(*prices: Decimal, **named: timedelta) -> str:
        return f"{sum(prices)} {named['wait']}"

    @workflow
    def variable(price: Decimal) -> str:
        return join(price, price, wait=timedelta(minutes=1))

    assert runner.run(variable, Decimal("1.5")) == "3.0 0:01:00"
