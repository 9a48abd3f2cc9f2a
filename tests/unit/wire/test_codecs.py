"""Attempts and results on their way to a worker and back: nothing is lost, and nothing that comes can do harm."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from turnout.contracts.executor import Work
from turnout.model.deferral import Condition, Defer, Deferral
from turnout.model.events import ErrorInfo, ExecutionResult, ExecutionStatus, TaskReadyEvent
from turnout.model.retry import RetryPolicy, last_attempt
from turnout.model.shell import ShellSpec
from turnout.model.spec import Body, TaskSpec
from turnout.wire.documents import ResultMetadata, Step, StepError, StepMetadata, StepResult
from turnout.wire.frames import JSON, pack, unpack
from turnout.wire.messages import VERSION, StepBatch, StepResults
from turnout.wire.result_codec import answer_of, result_of
from turnout.wire.step_codec import event_of, handler_of, step_of, work_of

EVENT = TaskReadyEvent(run_id="run", task_id="run.3", task_name="public::p::w::t", attempt=2, max_attempts=4, begun=1)
RETRIES = 3
texts = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\x00"), max_size=8)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(texts, values, max_size=3)
durations = st.none() | st.integers(1, 10**7).map(lambda number: number / 1000)


def work(body: Body = Body("python", "shop:charge"), **more: Any) -> Work:  # noqa: B008
    at_most_once = more.pop("at_most_once", False)
    task = TaskSpec(name="t", body=body, at_most_once=at_most_once, retry=RetryPolicy(attempts=RETRIES + 1))
    return Work(event=more.pop("event", EVENT), task=task, body=None, workflow="public::p::w", **more)


def travelled(step: Step) -> Step:
    batch = StepBatch(batch_id="b", protocol_version=VERSION, steps=(step,))
    message = unpack(pack(batch, "s", JSON), JSON).message
    assert isinstance(message, StepBatch)
    return message.steps[0]


def returned(result: StepResult) -> StepResult:
    message = unpack(pack(StepResults(batch_id="b", protocol_version=VERSION, results=(result,)), "s"), JSON).message
    assert isinstance(message, StepResults)
    return message.results[0]


@given(
    args=st.lists(values, max_size=3).map(tuple),
    kwargs=objects,
    context=st.none() | objects,
    saved=values,
    index=st.none() | st.integers(0, 100),
    timeout=durations,
    failures=st.integers(0, RETRIES),
    losses=st.integers(0, 3),
    returned=st.integers(0, 3),
    shadow=st.booleans(),
    condition=st.none() | st.builds(Condition, texts, st.just("[1]"), st.floats(1, 9)),
)
def test_an_attempt_comes_out_at_the_worker_as_it_went_in(
    failures: int, losses: int, returned: int, shadow: bool, **parts: Any
) -> None:
    ordinal = 1 + failures + losses + returned
    event = TaskReadyEvent(
        run_id="r",
        task_id="r.1",
        task_name="a::b::c::t",
        attempt=ordinal,
        max_attempts=last_attempt(RetryPolicy(attempts=RETRIES + 1), ordinal, failures),
        begun=failures + losses,
        shadow=shadow,
    )
    sent = work(event=event, idempotency_key="key", token="key:1", **parts)
    step = travelled(step_of(sent, token="key:1"))
    assert (step.metadata.attempt, step.metadata.retry_limit) == (failures + losses, RETRIES), "what began counts"
    got = work_of(step, print)
    assert (got.task.name, got.workflow) == ("t", "public::p::w")
    assert (got.event.task_id, got.event.shadow, got.event.begun) == ("r.1", shadow, failures + losses)
    assert got.event.attempt == failures + losses + 1
    left = got.event.max_attempts - got.event.attempt
    assert left == RETRIES - failures == event.max_attempts - event.attempt, "as many retries are left on both sides"
    same = ("args", "kwargs", "context", "saved", "index", "labels", "timeout", "condition", "idempotency_key", "token")
    for name in same:
        assert getattr(got, name) == getattr(sent, name), name


@pytest.mark.parametrize(
    ("token", "attempt"),
    [("r.1:7", 7), ("r.1:7:shadow", 7), ("other.1:7", 3), ("opaque", 3), ("r.1:x", 3), ("r.1:" + 40 * "9", 3)],
)
def test_a_body_at_a_worker_has_the_number_that_the_token_keeps(token: str, attempt: int) -> None:
    event = msgspec.structs.replace(EVENT, task_id="r.1", begun=2)
    step = travelled(step_of(work(event=event), token=token))
    assert step.metadata.attempt == 2
    assert work_of(step, print).event.attempt == attempt


def _with_traceback(result: ExecutionResult) -> ExecutionResult:
    assert result.error is not None
    error = msgspec.structs.replace(result.error, traceback="ship.rb:3:in `call'\nworker.rb:40:in `run'")
    return msgspec.structs.replace(result, error=error)


results = st.one_of(
    values.map(lambda value: ExecutionResult.success(EVENT, value)),
    st.builds(
        lambda type_, message, mro, code, retryable, after: ExecutionResult.failed(
            EVENT, ErrorInfo(type_, message, "line 1\nline 2", mro, code), retryable, retry_after=after
        ),
        st.just("Declined"),
        texts,
        st.just(("shop.Declined", "builtins.Exception")),
        st.sampled_from(("", "declined")),
        st.booleans(),
        durations,
    ),
    st.just(ExecutionResult.timed_out(EVENT, 2.5)),
    st.just(_with_traceback(ExecutionResult.timed_out(EVENT, 2.5))),
    st.just(_with_traceback(ExecutionResult.crashed(EVENT, "its process died"))),
    st.just(ExecutionResult.cancelled(EVENT)),
    texts.map(lambda reason: ExecutionResult.returned(EVENT, reason)),
    st.just(ExecutionResult.returned(EVENT, "code_missing")),
    texts.map(lambda reason: ExecutionResult.crashed(EVENT, reason)),
    texts.map(lambda reason: ExecutionResult.lost(EVENT, reason)),
    st.builds(lambda seconds, saved: ExecutionResult.deferred(EVENT, Defer(seconds, save=saved)), st.just(3), values),
    st.just(ExecutionResult.deferred(EVENT, Defer(condition="shop:arrived", args=[1]))),
)


@given(results)
@example(ExecutionResult.failed(EVENT, ErrorInfo("Busy", "", mro=("shop.Busy",)), retryable=True, retry_after=32.267))
def test_a_result_comes_out_at_the_hub_as_the_worker_made_it(result: ExecutionResult) -> None:
    step = step_of(work(), token="run.3:2")
    assert result_of(EVENT, returned(answer_of(step, result))) == result


def test_what_a_branch_chose_and_the_time_that_it_took_travel() -> None:
    step = step_of(work(), token="t")
    made = ExecutionResult.success(EVENT, 1, chosen=("a", "b"), started_at=100.0, finished_at=100.25)
    answer = returned(answer_of(step, made, "1.2"))
    assert (answer.metadata.execution_time_ms, answer.metadata.handler_version) == (250.0, "1.2")
    got = result_of(EVENT, answer, now=50.0)
    assert (got.chosen, got.started_at, got.finished_at) == (("a", "b"), 49.75, 50.0)
    assert got.handler_version == "1.2"


def test_a_version_is_short_text_whatever_the_worker_says() -> None:
    got = result_of(EVENT, answer("failed", handler_version="\x00\ud800" + "v" * 100_000))
    assert got.handler_version.isprintable() and len(got.handler_version) <= 256


def test_a_command_travels_as_the_configuration_of_the_shell_handler() -> None:
    spec = ShellSpec(("echo", "{x}"), env={"A": "b"}, parse="text")
    step = travelled(step_of(work(Body("shell", "echo {x}", spec), kwargs={"x": 1}), token="t"))
    assert step.handler_class == "turnout.shell" == handler_of(Body("shell", "echo", spec))
    got = work_of(step, None)
    assert got.task.body.shell == spec and got.kwargs == {"x": 1}


def test_a_handler_gets_its_configuration_the_input_and_the_results_before() -> None:
    body = Body("handler", "Shop::Ship", config={"fast": True})
    given = msgspec.structs.replace(work(body), run_input={"id": 1}, previous={"check": "ok"}, labels={"gpu": "true"})
    step = travelled(step_of(msgspec.structs.replace(given, time_left=1.5), token="t"))
    assert (step.metadata.labels, step.metadata.deadline_ms) == ({"gpu": "true"}, 1500)
    assert (step.handler_class, step.handler_config) == ("Shop::Ship", {"fast": True})
    assert (step.task_context, step.previous_results) == ({"id": 1}, {"check": "ok"})
    assert step.metadata.attempt == 1 and step.metadata.retry_limit == 3


def test_a_task_that_runs_at_most_once_asks_before_it_begins() -> None:
    assert step_of(work(at_most_once=True), token="t").metadata.confirm_start
    assert not step_of(work(), token="t").metadata.confirm_start


def answer(status: Any, error: StepError | None = None, output: Any = None, **metadata: Any) -> StepResult:
    more = ResultMetadata(token="t", **metadata)
    return StepResult(step_id="run.3", status=status, metadata=more, error=error, output=output)


def test_a_handler_that_is_missing_is_missing_code() -> None:
    got = result_of(EVENT, answer("error", StepError("no"), outcome="handler_missing"))
    assert got.status is ExecutionStatus.RETURNED and got.error_message == "code_missing"


def test_names_of_errors_of_other_languages_can_be_named_by_retry_rules() -> None:
    got = result_of(EVENT, answer("failed", StepError("slow", "Net::OpenTimeout")))
    assert got.error is not None and got.error.mro == ("Net.OpenTimeout",)
    bare = result_of(EVENT, answer("failed", StepError("slow", "TimeoutError")))
    assert bare.error is not None and bare.error.mro == ("builtins.TimeoutError",)


@pytest.mark.parametrize("output", ["\x00", "\ud800", float("nan"), "x" * 2_000_000])
def test_an_output_that_cannot_be_kept_is_a_failure_for_good(output: Any) -> None:
    got = result_of(EVENT, answer("completed", output=output))
    assert got.status is ExecutionStatus.FAILED and got.error is not None and "t: output" in got.error.message


@pytest.mark.parametrize("deferral", [{"seconds": "soon"}, {"condition": 1}, {"saved": "x" * 100_000}])
def test_a_deferral_that_makes_no_sense_is_a_failure(deferral: dict[str, Any]) -> None:
    got = result_of(EVENT, answer("failed", outcome="deferred", deferral=deferral))
    assert got.status is ExecutionStatus.FAILED


def test_a_deferral_without_anything_is_one_of_no_time() -> None:
    got = result_of(EVENT, answer("failed", outcome="deferred", deferral={"seconds": -3.0}))
    assert got.deferral == Deferral()


def test_a_failure_without_a_word_still_has_one() -> None:
    got = result_of(EVENT, answer("failed", retryable=False))
    assert got.status is ExecutionStatus.FAILED and got.error_message == "the worker says failed and not why"


def test_in_context_style_what_a_handler_returns_is_set_in_the_context() -> None:
    got = result_of(EVENT, answer("completed", output={"b": 2}), context={"a": 1})
    assert msgspec.json.decode(got.output or "") == {"a": 1, "b": 2}
    got = result_of(EVENT, answer("completed", output=7), context={"a": 1})
    assert msgspec.json.decode(got.output or "") == {"a": 1, "t": 7}


def test_a_step_without_its_full_name_has_its_short_one() -> None:
    step = step_of(work(), token="t")
    bare = msgspec.structs.replace(step, metadata=msgspec.structs.replace(step.metadata, task_name=""))
    assert event_of(bare).task_name == "t"


@given(
    st.sampled_from(("run.3", "run", "")),
    st.integers(-2, 3) | st.integers(10**8, 10**10),
    st.sampled_from(
        ("{id}:{next}", "{id}:0{next}", "{id}:7", "{id}:7:shadow", "{id}:{next}:shadow", "other:7", "{id}:x", "")
    ),
)
@example("run.3", 999_999_999, "{id}:{next}")
def test_the_number_of_an_attempt_is_that_of_its_token_or_else_what_began_before(
    step_id: str, begun: int, form: str
) -> None:
    token = form.format(id=step_id, next=begun + 1)
    metadata = StepMetadata(token=token, attempt=begun)
    step = Step(step_id=step_id, task_id="run", step_name="t", handler_class="h", metadata=metadata)
    task_id, _, number = token.removesuffix(":shadow").rpartition(":")
    named = task_id == step_id and number.isascii() and number.isdigit() and len(number) <= 9
    assert event_of(step).attempt == (int(number) if named else begun + 1)
