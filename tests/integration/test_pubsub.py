"""Steps published to one subscriber: a real Runner, real sockets, handlers in threads of the test or moved by hand."""

from __future__ import annotations

import logging
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from socket import create_connection
from typing import Any

import msgspec
import pytest
import zmq

from tests.letter_handler import LetterHandler
from tests.unlisted import unlisted
from turnout import Runner, remote, task, workflow
from turnout.dispatcher import RoutingConfig, RoutingRule
from turnout.errors import ExecutionFailed, InvalidRouting, PermanentFailure, RunCancelled, RunFailed
from turnout.executors.pubsub.executor import ZmqPubSubExecutor
from turnout.executors.pubsub.handler import ZmqPubSubHandler
from turnout.executors.pubsub.settings import PubSubSettings
from turnout.wire.documents import Step

add_one = remote("add_one", handler="Add", config={"by": 1})
double = remote("double", handler="Double")
pay = remote("pay", handler="Pay", at_most_once=True)
hurry = remote("hurry", handler="Hurry", retries=2, retry_delay=0.0, timeout=0.3)
tried = remote("tried", handler="Tried", retries=2, retry_delay=0.0)


@task
def here(x: int) -> int:
    return x + 100


@unlisted
@workflow
def sums(x: int) -> int:
    return here(double(x=add_one(x=x)))


@unlisted
@workflow
def single(x: int) -> int:
    return add_one(x=x)


@unlisted
@workflow
def trying(x: int) -> int:
    return tried(x=x)


@unlisted
@workflow
def hurried(x: int) -> int:
    return hurry(x=x)


@unlisted
@workflow
def paying(x: int) -> int:
    return pay(x=x)


HANDLERS: dict[str, Callable[[Step], Any]] = {
    "Add": lambda step: step.metadata.args["x"] + step.handler_config["by"],
    "Double": lambda step: step.metadata.args["x"] * 2,
}
Make = Callable[..., Runner]


@pytest.fixture(params=["inproc", "ipc", "tcp"])
def transport(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def folder() -> Iterator[Path]:
    """The path of a socket has to be short."""
    with tempfile.TemporaryDirectory(prefix="ps") as path:
        yield Path(path)


def settings_for(transport: str, folder: Path, **more: Any) -> PubSubSettings:
    """Endpoints that nobody else has. Over TCP both are bound by the executor, that finds the ports."""
    if transport == "tcp":
        endpoints = {"steps": "tcp://127.0.0.1:*", "results": "tcp://127.0.0.1:*"}
    elif transport == "ipc":
        endpoints = {name: f"ipc://{folder}/{name}" for name in ("steps", "results")}
    else:
        endpoints = {name: f"inproc://{name}-{uuid.uuid4().hex}" for name in ("steps", "results")}
    return PubSubSettings(
        rust_step_publisher=endpoints["steps"],
        rust_result_subscriber=endpoints["results"],
        bind_results=transport == "tcp",
        **more,
    )


def for_handler(executor: ZmqPubSubExecutor) -> PubSubSettings:
    """The settings of the other side, with the ports that were found."""
    return PubSubSettings(
        rust_step_publisher=executor.step_endpoint,
        rust_result_subscriber=executor.result_endpoint,
        bind_results=executor.settings.bind_results,
    )


@pytest.fixture
def by_hand(make_sqlite_runner: Make) -> Iterator[Callable[..., tuple[Runner, ZmqPubSubExecutor, LetterHandler]]]:
    """A Runner and a handler that is moved by hand, over TCP; it has not subscribed yet."""
    handlers: list[LetterHandler] = []

    def make(**more: Any) -> tuple[Runner, ZmqPubSubExecutor, LetterHandler]:
        handler = LetterHandler("", "tcp://127.0.0.1:*")
        handlers.append(handler)
        options = {"result_timeout_ms": 300_000} | more
        executor = ZmqPubSubExecutor(
            PubSubSettings(rust_step_publisher="tcp://127.0.0.1:*", rust_result_subscriber=handler.results, **options)
        )
        runner = make_sqlite_runner(executors={"zmq_pubsub": executor}, workflows=[sums, single, trying, hurried])
        return runner, executor, handler

    yield make
    for handler in handlers:
        handler.leave()


def test_a_run_goes_over_a_handler_wherever_it_is(make_runner: Make, transport: str, folder: Path) -> None:
    executor = ZmqPubSubExecutor(settings_for(transport, folder))
    runner = make_runner(executors={"zmq_pubsub": executor}, workflows=[sums])
    with ZmqPubSubHandler(HANDLERS, for_handler(executor)):
        handles = [runner.submit(sums, number) for number in range(30)]
        assert [handle.result() for handle in handles] == [(number + 1) * 2 + 100 for number in range(30)]
    metrics = executor.metrics()
    assert (metrics.active_tasks, metrics.total_executed, metrics.total_failed) == (0, 60, 0)


def test_a_subscriber_that_joins_late_gets_the_work(
    make_sqlite_runner: Make, transport: str, folder: Path, until: Any
) -> None:
    executor = ZmqPubSubExecutor(settings_for(transport, folder))
    runner = make_sqlite_runner(executors={"zmq_pubsub": executor}, workflows=[single])
    handles = [runner.submit(single, number) for number in range(10)]
    until(lambda: all(handle.tasks()[0].reason == "no_capacity" for handle in handles))
    assert len(executor.publisher.window) == 0, "nothing is published while nobody subscribes"
    for _ in range(2):
        with ZmqPubSubHandler(HANDLERS, for_handler(executor)):
            assert [handle.result() for handle in handles] == [number + 1 for number in range(10)]
            handles = [runner.submit(single, number) for number in range(10)]
            assert [handle.result() for handle in handles] == [number + 1 for number in range(10)]
        handles = [runner.submit(single, number) for number in range(10)]
    assert executor.publisher.counts.malformed == 0


def test_what_is_published_is_one_frame_with_the_documents_words(by_hand: Any) -> None:
    runner, executor, handler = by_hand()
    handler.subscribe(executor.step_endpoint)
    handle = runner.submit(sums, 4)
    batch = handler.take()
    assert handler.frames[-1].startswith(b'steps {"batch_id":"batch_')
    assert batch["protocol_version"] == "1.0"
    (step,) = batch["steps"]
    assert step["step_name"] == "add_one" and step["handler_class"] == "Add"
    assert type(step["task_id"]) is type(step["step_id"]) is int, "as the oldest description shows them"
    assert 0 < step["task_id"] < 2**53 and 0 < step["step_id"] < 2**53
    assert step["handler_config"] == {"by": 1} and step["task_context"] == {"x": 4}
    assert step["previous_results"] == {}
    metadata = step["metadata"]
    assert (metadata["attempt"], metadata["retry_limit"], metadata["timeout_ms"]) == (0, 0, None)
    assert metadata["args"] == {"x": 4}
    handler.answer(batch, 5)
    batch = handler.take()
    assert batch["steps"][0]["previous_results"] == {"add_one": 5}
    handler.answer(batch, 10)
    assert handle.result() == 110


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is lost because this machine was busy for a moment."""
    monkeypatch.setattr("turnout.executors.pubsub.publisher.DELIVERIES", 10_000)


@pytest.mark.usefixtures("endless")
def test_a_step_that_is_not_answered_is_published_again_and_taken_once(by_hand: Any, until: Any) -> None:
    runner, executor, handler = by_hand(result_timeout_ms=300)
    handler.subscribe(executor.step_endpoint)
    handle = runner.submit(single, 1)
    first = handler.take()
    assert handler.take() == first, "under the same identity"
    handler.answer(first, 2)
    assert handle.result() == 2
    handler.answer(first, 3)
    until(lambda: executor.publisher.counts.unmatched == 1, "the second answer is dropped")
    assert runner.get(handle.id).result() == 2
    assert handle.tasks()[0].attempt == 1


def test_a_step_that_is_never_answered_is_lost_and_tried_again(by_hand: Any) -> None:
    runner, executor, handler = by_hand(result_timeout_ms=100)
    handler.subscribe(executor.step_endpoint)
    handle = runner.submit(single, 1)
    first = handler.take()
    seen = [first]
    while seen[-1]["steps"][0]["metadata"]["attempt"] == 0:
        seen.append(handler.take())
    assert seen[:-1] == [first] * 5, "as often as an attempt is published"
    handler.answer(first, 99)
    handler.answer(seen[-1], 2)
    while not handle.status().state.terminal:
        if (late := handler.look(0.05)) is not None:
            handler.answer(late, 2)
    assert handle.result() == 2
    assert handle.tasks()[0].attempt >= 2


def test_who_comes_after_a_handler_that_left_is_given_what_it_left(by_hand: Any) -> None:
    runner, executor, handler = by_hand()
    handler.subscribe(executor.step_endpoint)
    handle = runner.submit(single, 1)
    batch = handler.take()
    results = handler.results
    handler.leave()
    with LetterHandler(executor.step_endpoint, results) as second:
        assert second.take() == batch
        second.answer(batch, 2)
        assert handle.result() == 2
    assert handle.tasks()[0].attempt == 1


def test_a_second_subscriber_is_refused_and_takes_over_when_the_first_has_left(
    make_sqlite_runner: Make, transport: str, folder: Path, caplog: pytest.LogCaptureFixture, until: Any
) -> None:
    """The executor binds the results, so that it would hear both."""
    context = zmq.Context[Any]() if transport == "inproc" else None
    settings = msgspec.structs.replace(settings_for(transport, folder), bind_results=True)
    executor = ZmqPubSubExecutor(settings, context=context)
    runner = make_sqlite_runner(executors={"zmq_pubsub": executor}, workflows=[single])

    def subscriber() -> LetterHandler:
        return LetterHandler(executor.step_endpoint, executor.result_endpoint, context, bind=False)

    with subscriber() as first:
        handle = runner.submit(single, 1)
        first.answer(first.take(), 2)
        assert handle.result() == 2
        with caplog.at_level(logging.ERROR, "turnout.pubsub"), subscriber() as second:
            until(lambda: "a second subscriber" in caplog.text and "is refused" in caplog.text)
            for number in range(10):
                handle = runner.submit(single, number)
                first.answer(first.take(), number)
                assert handle.result() == number
            assert second.look(0.05) is None and not second.frames, "it is given nothing at all"
            handle = runner.submit(single, 7)
            batch = first.take()
            first.leave()
            assert second.take() == batch
            second.answer(batch, 8)
            assert handle.result() == 8
    assert executor.publisher.counts.unmatched == 0
    runner.close()
    if context is not None:
        context.term()


def test_a_cancelled_run_ends_at_once_and_the_late_result_is_dropped(by_hand: Any, until: Any) -> None:
    runner, executor, handler = by_hand()
    handler.subscribe(executor.step_endpoint)
    handle = runner.submit(single, 1)
    batch = handler.take()
    handle.cancel()
    with pytest.raises(RunCancelled):
        handle.result()
    handler.answer(batch, 2)
    until(lambda: executor.publisher.counts.unmatched == 1)
    assert executor.metrics().active_tasks == 0


def test_messages_that_make_no_sense_are_counted_and_dropped(by_hand: Any, until: Any) -> None:
    runner, executor, handler = by_hand()
    handler.subscribe(executor.step_endpoint)
    handle = runner.submit(single, 1)
    batch = handler.take()
    handler.send(b"results {")
    handler.send(b"results")
    handler.send(b"results_archive {}")
    handler.send(b"results {}", b"another frame")
    handler.say([1])
    handler.say({"batch_id": "no such batch", "results": [{"step_id": "x", "status": "completed"}]})
    until(lambda: executor.publisher.counts.malformed == 5 and executor.publisher.counts.unmatched == 1)
    handler.answer(batch, 2)
    assert handle.result() == 2


def test_whoever_sends_too_much_where_steps_go_out_is_cut_off_and_nobody_else(by_hand: Any) -> None:
    runner, executor, handler = by_hand()
    handler.subscribe(executor.step_endpoint)
    port = int(executor.step_endpoint.rpartition(":")[2])
    ready = b"\x05READY\x0bSocket-Type\x00\x00\x00\x03SUB"
    with create_connection(("127.0.0.1", port), timeout=20) as rude, suppress(ConnectionError):
        # The greeting of ZMTP without encryption, and a subscription to a topic that is none.
        rude.sendall(b"\xff" + b"\0" * 8 + b"\x7f\x03\x00NULL" + b"\0" * 48)
        rude.sendall(bytes([4, len(ready)]) + ready)
        rude.sendall(b"\x02" + (2_000_000).to_bytes(8) + b"\x01" + b"x" * 1_999_999)
        while rude.recv(1024):
            pass
    handle = runner.submit(single, 1)
    handler.answer(handler.take(), 2)
    assert handle.result() == 2


def test_a_failure_is_retried_unless_the_handler_says_not_to(by_hand: Any) -> None:
    runner, executor, handler = by_hand()
    handler.subscribe(executor.step_endpoint)
    handle = runner.submit(trying, 1)
    batch = handler.take()
    handler.answer(batch, status="failed", error={"message": "no stock", "backtrace": ["ship.rb:1"]})
    batch = handler.take()
    assert batch["steps"][0]["metadata"]["attempt"] == 1 and batch["steps"][0]["metadata"]["retry_limit"] == 2
    handler.answer(batch, status="error", error={"message": "no handler"}, metadata={"retryable": False})
    with pytest.raises(RunFailed, match="no handler"):
        handle.result()


@pytest.mark.parametrize("output", [float("nan"), "\ud800"], ids=["nan", "half a character"])
def test_an_answer_that_is_no_value_fails_its_step_at_once(by_hand: Any, output: Any) -> None:
    runner, executor, handler = by_hand()
    handler.subscribe(executor.step_endpoint)
    handle = runner.submit(trying, 1)
    handler.answer(handler.take(), output)
    with pytest.raises(RunFailed, match="tried: output holds"):
        handle.result()
    assert executor.publisher.counts.malformed == 0


def test_a_step_that_takes_too_long_is_tried_again_and_its_late_answer_is_dropped(by_hand: Any, until: Any) -> None:
    runner, executor, handler = by_hand()
    handler.subscribe(executor.step_endpoint)
    handle = runner.submit(hurried, 1)
    first = handler.take()
    assert first["steps"][0]["metadata"]["timeout_ms"] == 300
    second = handler.take()
    assert second["steps"][0]["metadata"]["attempt"] == 1 and second["batch_id"] != first["batch_id"]
    handler.answer(first, 98)
    until(lambda: executor.publisher.counts.unmatched == 1)
    handle.cancel()
    with pytest.raises(RunCancelled):
        handle.result()


def test_copies_of_attempts_are_published_beside_the_real_ones_and_change_nothing(
    make_sqlite_runner: Make, folder: Path, until: Any
) -> None:
    real, copied = (ZmqPubSubExecutor(settings_for("inproc", folder), name=name) for name in ("real", "copied"))
    routing = RoutingConfig("real", (RoutingRule("**", "copied", shadow=True),))
    runner = make_sqlite_runner(executors={"real": real, "copied": copied}, routing=routing, workflows=[single])
    wrong = {"Add": lambda step: 1000 if step.metadata.shadow else 1}
    with ZmqPubSubHandler(HANDLERS, for_handler(real)):
        assert runner.run(single, 1) == 2, "nobody is there for the copy, and nobody waits for it"
        with ZmqPubSubHandler(wrong, for_handler(copied)):
            until(copied.has_capacity)
            assert runner.run(single, 1) == 2
            until(lambda: runner.core.engine.shadows.metrics.different == 1)
    assert copied.metrics().total_executed == 1


def test_a_share_of_the_runs_goes_to_a_second_subscriber(make_sqlite_runner: Make, folder: Path) -> None:
    old, new = (ZmqPubSubExecutor(settings_for("inproc", folder), name=name) for name in ("old", "new"))
    routing = RoutingConfig("old", (RoutingRule("**", "new", percent=50),))
    runner = make_sqlite_runner(executors={"old": old, "new": new}, routing=routing, workflows=[single])
    with ZmqPubSubHandler(HANDLERS, for_handler(old)), ZmqPubSubHandler(HANDLERS, for_handler(new)):
        handles = [runner.submit(single, number) for number in range(40)]
        assert [handle.result() for handle in handles] == [number + 1 for number in range(40)]
    shares = [executor.metrics().total_executed for executor in (old, new)]
    assert sum(shares) == 40 and all(shares)


def test_the_version_of_a_handler_is_kept_with_each_attempt(by_hand: Any) -> None:
    runner, executor, handler = by_hand()
    handler.subscribe(executor.step_endpoint)
    handle = runner.submit(trying, 1)
    batch = handler.take()
    handler.answer(batch, status="failed", error="no stock", metadata={"handler_version": "1.2.3"})
    handler.answer(handler.take(), 2, metadata={"handler_version": 2, "retryable": True})
    assert handle.result() == 2
    assert [(one.outcome, one.handler_version) for one in handle.attempts()] == [("retry", "1.2.3"), ("completed", "2")]


def test_no_more_is_published_unanswered_than_the_bound_allows(by_hand: Any) -> None:
    runner, executor, handler = by_hand(step_queue_hwm=4, batch_size=3)
    handler.subscribe(executor.step_endpoint)
    handles = [runner.submit(single, number) for number in range(20)]
    unanswered: list[dict[str, Any]] = []
    answered = 0
    while answered < 20:
        batch = handler.look(0.1)
        if batch is not None:
            assert len(batch["steps"]) <= 3
            unanswered.append(batch)
            assert sum(len(each["steps"]) for each in unanswered) <= 4
            continue
        for each in unanswered:
            for step in each["steps"]:
                handler.answer({**each, "steps": [step]}, step["metadata"]["args"]["x"] + 1)
                answered += 1
        unanswered = []
    assert [handle.result() for handle in handles] == [number + 1 for number in range(20)]


@pytest.mark.usefixtures("endless")
def test_a_handler_in_python_runs_a_step_once_however_often_it_is_published(
    make_sqlite_runner: Make, folder: Path, gate: Any, until: Any
) -> None:
    ran: list[str] = []

    def slow(step: Step) -> int:
        ran.append(step.token)
        gate.pass_through()
        return 5

    executor = ZmqPubSubExecutor(settings_for("ipc", folder, result_timeout_ms=300))
    runner = make_sqlite_runner(executors={"zmq_pubsub": executor}, workflows=[single])
    with ZmqPubSubHandler({"Add": slow}, for_handler(executor)):
        handle = runner.submit(single, 1)
        assert gate.reached()
        until(lambda: executor.publisher.window.redelivered >= 2)
        gate.open()
        assert handle.result() == 5
        assert len(ran) == 1


def test_a_handler_in_python_says_what_went_wrong(make_sqlite_runner: Make, folder: Path) -> None:
    def broken(step: Step) -> int:
        raise PermanentFailure("the card is blocked")

    executor = ZmqPubSubExecutor(settings_for("inproc", folder))
    runner = make_sqlite_runner(executors={"zmq_pubsub": executor}, workflows=[single, trying])
    with ZmqPubSubHandler({"Tried": broken}, for_handler(executor)):
        with pytest.raises(RunFailed, match="the card is blocked"):
            runner.run(trying, 1)
        with pytest.raises(RunFailed, match="there is no handler 'Add' here"):
            runner.run(single, 1)


def _exits(step: Step) -> Any:
    raise SystemExit(3)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (lambda step: object(), "object"),
        (lambda step: float("nan"), "nan"),
        (lambda step: "\ud800", "surrogate"),
        (lambda step: "x" * 20_000_000, "limit is"),
        (_exits, "SystemExit"),
    ],
    ids=["no value", "nan", "half a character", "too large", "exit"],
)
def test_a_handler_in_python_that_returns_nonsense_fails_its_step_and_goes_on(
    make_sqlite_runner: Make, folder: Path, body: Callable[[Step], Any], why: str
) -> None:
    executor = ZmqPubSubExecutor(settings_for("ipc", folder))
    runner = make_sqlite_runner(executors={"zmq_pubsub": executor}, workflows=[single, trying])
    with ZmqPubSubHandler(HANDLERS | {"Tried": body}, for_handler(executor)):
        with pytest.raises(RunFailed, match=why):
            runner.run(trying, 1)
        assert runner.run(single, 1) == 2


def test_a_handler_in_python_answers_each_step_as_soon_as_it_is_done(
    make_sqlite_runner: Make, folder: Path, gate: Any
) -> None:
    """The steps are of one batch: they were there before the handler."""

    def one_waits(step: Step) -> int:
        if step.metadata.args["x"]:
            gate.pass_through()
        return 5

    executor = ZmqPubSubExecutor(settings_for("ipc", folder))
    runner = make_sqlite_runner(executors={"zmq_pubsub": executor}, workflows=[single])
    handles = [runner.submit(single, number) for number in (0, 1)]
    with ZmqPubSubHandler({"Add": one_waits}, for_handler(executor)):
        assert gate.reached()
        assert handles[0].result() == 5
        gate.open()
        assert handles[1].result() == 5


def test_a_context_of_ones_own_joins_both_sides_in_one_process(make_sqlite_runner: Make, folder: Path) -> None:
    context = zmq.Context[Any]()
    executor = ZmqPubSubExecutor(settings_for("inproc", folder), context=context)
    runner = make_sqlite_runner(executors={"zmq_pubsub": executor}, workflows=[single])
    with LetterHandler(executor.step_endpoint, executor.result_endpoint, context) as handler:
        handle = runner.submit(single, 1)
        handler.answer(handler.take(), 2)
        assert handle.result() == 2
    runner.close()
    context.term()


def test_a_task_that_runs_at_most_once_is_refused(make_sqlite_runner: Make, folder: Path) -> None:
    executor = ZmqPubSubExecutor(settings_for("inproc", folder))
    with pytest.raises(InvalidRouting, match="it runs at most once"):
        make_sqlite_runner(executors={"zmq_pubsub": executor}, workflows=[paying])


@pytest.mark.parametrize("transport", ["inproc", "ipc"])
def test_an_endpoint_that_is_taken_is_named(make_sqlite_runner: Make, transport: str, folder: Path) -> None:
    settings = settings_for(transport, folder)
    runner = make_sqlite_runner(executors={"zmq_pubsub": ZmqPubSubExecutor(settings)}, workflows=[single])
    with pytest.raises(ExecutionFailed, match="cannot be bound: Address already in use"):
        make_sqlite_runner(executors={"zmq_pubsub": ZmqPubSubExecutor(settings)}, workflows=[single])
    with ZmqPubSubHandler(HANDLERS, settings):
        assert runner.run(single, 1) == 2, "the first has lost nothing by it"


def test_a_runner_that_drives_nothing_leaves_the_endpoint_to_the_one_that_does(
    make_sqlite_runner: Make, folder: Path
) -> None:
    settings = settings_for("ipc", folder)
    runner = make_sqlite_runner(executors={"zmq_pubsub": ZmqPubSubExecutor(settings)}, workflows=[single])
    beside = make_sqlite_runner(executors={"zmq_pubsub": ZmqPubSubExecutor(settings)}, workflows=[single], drives=False)
    run_id = beside.submit(single, 1).id
    with ZmqPubSubHandler(HANDLERS, settings):
        assert runner.get(run_id).result() == 2


def test_the_keys_in_a_file_are_enough(sqlite_url: str, folder: Path) -> None:
    lines = [
        f'  rust_step_publisher: "ipc://{folder}/steps"',
        f'  rust_result_subscriber: "ipc://{folder}/results"',
        "  batch_size: 4",
    ]
    file = folder / "turnout.yaml"
    file.write_text("\n".join(["step_execution:", *lines]))
    with Runner(sqlite_url, config=file, workflows=[single], handle_sigterm=False) as runner:
        settings = PubSubSettings(
            rust_step_publisher=f"ipc://{folder}/steps", rust_result_subscriber=f"ipc://{folder}/results"
        )
        with ZmqPubSubHandler(HANDLERS, settings):
            assert runner.run(single, 1) == 2


def test_a_runner_that_is_closed_leaves_its_steps_to_the_next_which_knows_late_answers_by_their_number(
    make_sqlite_runner: Make, by_hand: Callable[..., tuple[Runner, ZmqPubSubExecutor, LetterHandler]]
) -> None:
    first, executor, handler = by_hand()
    handler.subscribe(executor.step_endpoint)
    handle = first.submit(single, 1)
    before = handler.take()
    first.close(0.1)
    again = ZmqPubSubExecutor(
        PubSubSettings(rust_step_publisher=executor.step_endpoint, rust_result_subscriber=handler.results)
    )
    second = make_sqlite_runner(executors={"zmq_pubsub": again}, workflows=[single])
    after = handler.take()
    [was], [step] = before["steps"], after["steps"]
    assert (step["step_id"], step["task_id"]) == (was["step_id"], was["task_id"]), "its numbers are still the same"
    assert before["batch_id"] != after["batch_id"]
    tokens = [each["metadata"]["token"] for each in (was, step)]
    assert tokens[0].endswith(":1") and not tokens[1].endswith(":1"), "the token has the ordinal"
    assert (was["metadata"]["attempt"], step["metadata"]["attempt"]) == (0, 1)
    handler.answer(before, 99, metadata={"token": tokens[0]})
    handler.answer(before, 7)
    handler.answer(after, 98)
    assert second.get(handle.id).result(30) == 7, "the first answer that is not of another attempt"
    other = second.submit(single, 2)
    [fresh] = (batch := handler.take())["steps"]
    assert fresh["task_id"] != step["task_id"] and fresh["step_id"] != step["step_id"]
    handler.answer(batch, 8)
    assert other.result(30) == 8


def test_an_answer_that_was_counted_is_not_taken_for_the_next_attempt(
    by_hand: Callable[..., tuple[Runner, ZmqPubSubExecutor, LetterHandler]],
) -> None:
    runner, executor, handler = by_hand()
    handler.subscribe(executor.step_endpoint)
    handle = runner.submit(trying, 1)
    first = handler.take()
    handler.answer(first, status="failed", error="no")
    second = handler.take()
    assert second["steps"][0]["step_id"] == first["steps"][0]["step_id"]
    handler.answer(first, status="failed", error="no")
    handler.answer(first, status="failed", error="no")
    handler.answer(second, 5)
    assert handle.result(30) == 5
    assert [step["steps"][0]["metadata"]["attempt"] for step in (first, second)] == [0, 1]
    assert {step["steps"][0]["metadata"]["retry_limit"] for step in (first, second)} == {2}


@pytest.mark.parametrize("later", [True, False], ids=["others are answered", "only questions are answered"])
def test_a_batch_that_a_live_subscriber_does_not_answer_comes_again_long_before_the_timeout(
    by_hand: Callable[..., tuple[Runner, ZmqPubSubExecutor, LetterHandler]], later: bool
) -> None:
    runner, executor, handler = by_hand(batch_size=1, overtaken_batches=2, overtaken_after_ms=200)
    handler.subscribe(executor.step_endpoint)

    def answered(number: int) -> None:
        handle = runner.submit(single, number)
        batch = handler.take()
        assert batch["steps"][0]["metadata"]["args"] == {"x": number}
        handler.answer(batch, number)
        assert handle.result(30) == number

    if not later:
        for number in (1, 2):
            answered(number)
    handle = runner.submit(single, 3)
    lost = handler.take()
    if later:
        for number in (4, 5):
            answered(number)
    again = handler.take()
    assert again == lost, "under the same identity"
    handler.answer(again, 33)
    assert handle.result(30) == 33
    assert handle.tasks()[0].attempt == 1 and executor.publisher.window.redelivered >= 1


def test_a_batch_is_not_published_again_early_where_that_is_switched_off(
    by_hand: Callable[..., tuple[Runner, ZmqPubSubExecutor, LetterHandler]],
) -> None:
    runner, executor, handler = by_hand(batch_size=1, overtaken_batches=0, overtaken_after_ms=1)
    handler.subscribe(executor.step_endpoint)
    handle = runner.submit(single, 1)
    lost = handler.take()
    for number in range(6):
        other = runner.submit(single, number)
        handler.answer(handler.take(), number)
        assert other.result(30) == number
    assert handler.look(1.0) is None
    handler.answer(lost, 7)
    assert handle.result(30) == 7
