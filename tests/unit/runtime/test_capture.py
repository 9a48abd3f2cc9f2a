"""What bodies print and log goes to their own attempt; what nobody's body says is left alone."""

from __future__ import annotations

import asyncio
import contextvars
import copy
import io
import logging
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from turnout.contracts.executor import Work
from turnout.model.events import TaskReadyEvent
from turnout.model.info import TaskInfo, current_task, info_of
from turnout.model.spec import Body, TaskSpec
from turnout.runtime import capture as capturing
from turnout.runtime.capture import CapturingStream, capture, relay, stay_in_place
from turnout.runtime.execution import call, call_async

log = logging.getLogger("tests.capture")


@pytest.fixture(autouse=True)
def nobody_else_captures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever Runners other tests have left open in this process."""
    if capturing._hooked:  # pyright: ignore[reportPrivateUsage]
        monkeypatch.setattr(logging.Logger, "callHandlers", capturing._real_call)  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(capturing, "_hooked", False)
    monkeypatch.setattr(capturing, "_captures", 0)


class Heard:
    """An ``Output`` that remembers."""

    def __init__(self, echo: bool = True) -> None:
        self.echo = echo
        self.said: list[tuple[int, str, str]] = []

    def __call__(self, source: TaskReadyEvent | TaskInfo, stream: str, text: str) -> None:
        self.said.append((source.ordinal, str(stream), text))

    def text(self, stream: str = "stdout", attempt: int = 1) -> str:
        return "".join(text for who, by, text in self.said if (who, by) == (attempt, stream))


class Out:
    """Streams of the test's own, with capturing on. Begun by the test itself: pytest puts its own streams in place
    between a fixture and its test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.stdout, self.stderr = io.StringIO(), io.StringIO()
        monkeypatch.setattr(sys, "stdout", self.stdout)
        monkeypatch.setattr(sys, "stderr", self.stderr)
        self.end = capture()


@pytest.fixture
def begin(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Out]]:
    with ExitStack() as stack:

        def make() -> Out:
            out = Out(monkeypatch)
            stack.callback(out.end)
            return out

        yield make


def event(attempt: int = 1) -> TaskReadyEvent:
    return TaskReadyEvent(
        run_id="run", task_id="run.0", task_name="a::b::c::t", attempt=attempt, max_attempts=3, begun=attempt - 1
    )


def run(body: Callable[..., object], heard: Heard | None, attempt: int = 1) -> object:
    """As an executor of thirty lines would."""
    work = Work(event=event(attempt), task=TaskSpec("t", Body("python", "t")), body=body, output=heard)
    return work.invoke(info_of(work.event))


def test_a_body_is_heard_and_its_output_still_appears(begin: Callable[[], Out]) -> None:
    out = begin()
    heard = Heard()

    def body() -> None:
        print("hello", "world")
        print("trouble", file=sys.stderr)
        sys.stdout.writelines(["a\n", "b\n"])

    run(body, heard)
    print("outside")
    assert heard.text() == "hello world\na\nb\n"
    assert heard.text("stderr") == "trouble\n"
    assert out.stdout.getvalue() == "hello world\na\nb\noutside\n"
    assert out.stderr.getvalue() == "trouble\n"


def test_without_echo_only_the_attempt_has_it(begin: Callable[[], Out]) -> None:
    out = begin()
    heard = Heard(echo=False)
    run(lambda: print("hello"), heard)
    print("outside")
    assert heard.text() == "hello\n"
    assert out.stdout.getvalue() == "outside\n"


def test_a_body_whose_lines_nobody_keeps_prints_as_ever(begin: Callable[[], Out]) -> None:
    out = begin()
    run(lambda: print("hello"), None)
    assert out.stdout.getvalue() == "hello\n"


def test_the_current_task_ends_with_the_body(begin: Callable[[], Out]) -> None:
    begin()
    heard = Heard()
    seen: list[int] = []

    async def body() -> None:
        await asyncio.sleep(0)
        info = current_task()
        assert info is not None
        seen.append(info.attempt)
        print("async")

    async def main() -> None:
        await run(body, heard, attempt=2)  # type: ignore[misc]
        assert current_task() is None
        print("after")

    asyncio.run(main())
    assert current_task() is None
    assert (seen, heard.text(attempt=2)) == ([2], "async\n")


def test_an_async_body_that_was_given_up_on_is_cleared_away_from_anywhere() -> None:
    async def body() -> None:
        await asyncio.Event().wait()

    work = Work(event=event(), task=TaskSpec("t", Body("python", "t")), body=body)
    for begun in (call_async(work, info_of(work.event)), work.invoke(info_of(work.event))):
        loop = asyncio.new_event_loop()
        contextvars.Context().run(loop.run_until_complete, asyncio.wait_for(_begin(begun), 20))
        loop.close()
        contextvars.Context().run(begun.close)
    assert current_task() is None


async def _begin(coroutine: Any) -> None:
    """Run it up to where it waits."""
    coroutine.send(None)


def test_bodies_at_the_same_time_do_not_mix(begin: Callable[[], Out]) -> None:
    begin()
    heard = Heard()
    together = threading.Barrier(4, timeout=20)

    def body(attempt: int) -> None:
        for number in range(50):
            if number % 10 == 0:
                together.wait()
            print(f"{attempt}:{number}")

    threads = [threading.Thread(target=run, args=(lambda a=attempt: body(a), heard, attempt)) for attempt in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for attempt in range(4):
        assert heard.text(attempt=attempt) == "".join(f"{attempt}:{number}\n" for number in range(50))


def test_threads_of_a_body_are_heard_if_they_have_its_context(begin: Callable[[], Out]) -> None:
    out = begin()
    heard = Heard()

    def body() -> None:
        inherited = contextvars.copy_context()
        for target in (lambda: inherited.run(print, "mine"), lambda: print("nobody's")):
            thread = threading.Thread(target=target)
            thread.start()
            thread.join()

    run(body, heard)
    assert heard.text() == "mine\n"
    assert out.stdout.getvalue() == "mine\nnobody's\n"


# -- logging ----------------------------------------------------------------------------------------------------------
def test_records_of_libraries_are_heard_once_with_level_name_and_traceback(begin: Callable[[], Out]) -> None:
    begin()
    heard = Heard()

    def body() -> None:
        log.warning("careful, %s", "Ada")
        log.debug("not enabled")
        try:
            raise LookupError("gone")
        except LookupError:
            log.exception("looked")

    run(body, heard)
    first, second = [text for _, stream, text in heard.said if stream == "log"]
    assert first == "WARNING tests.capture: careful, Ada"
    assert second.startswith("ERROR tests.capture: looked\nTraceback") and second.endswith("LookupError: gone")
    assert {stream for _, stream, _ in heard.said} == {"log"}


def test_a_handler_that_writes_to_stderr_does_not_make_the_record_appear_twice(begin: Callable[[], Out]) -> None:
    out = begin()
    handler = logging.StreamHandler(sys.stderr)
    log.addHandler(handler)
    try:
        for heard in (Heard(), Heard(echo=False)):
            run(lambda: log.error("once"), heard)
            assert heard.said == [(1, "log", "ERROR tests.capture: once")]
    finally:
        log.removeHandler(handler)
    assert out.stderr.getvalue().splitlines().count("once") == 1, "and not at all without echo"


def test_a_record_whose_text_cannot_be_had_does_not_disturb_its_body(
    begin: Callable[[], Out], monkeypatch: pytest.MonkeyPatch
) -> None:
    begin()
    monkeypatch.setattr(logging, "raiseExceptions", False)
    heard = Heard()

    class Broken:
        def __str__(self) -> str:
            raise RuntimeError("no text")

    quiet = logging.getLogger("tests.capture.quiet")
    quiet.propagate = False
    quiet.addHandler(logging.NullHandler())
    run(lambda: quiet.error(Broken()), heard)
    assert heard.text("log") == "ERROR tests.capture.quiet: a record whose text cannot be had: RuntimeError was raised"


def test_the_logger_of_an_attempt_finds_it_from_any_thread(begin: Callable[[], Out]) -> None:
    begin()
    heard = Heard()
    info = info_of(event(), output=heard)
    thread = threading.Thread(target=lambda: info.logger.info("step %d", 1, extra={"order": 7}))
    thread.start()
    thread.join()
    assert heard.said == [(1, "log", "INFO: step 1")]


def test_programs_configure_logging_as_if_nobody_captured(monkeypatch: pytest.MonkeyPatch) -> None:
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    end = capture()
    try:
        assert root.handlers == []
        logging.basicConfig(stream=io.StringIO())
        assert len(root.handlers) == 1
    finally:
        end()


# -- in place and out -------------------------------------------------------------------------------------------------
def test_the_last_to_end_takes_the_stand_ins_out(monkeypatch: pytest.MonkeyPatch) -> None:
    real = io.StringIO()
    monkeypatch.setattr(sys, "stdout", real)
    calls = logging.Logger.callHandlers
    first, second = capture(), capture()
    assert isinstance(sys.stdout, CapturingStream)
    first()
    first()
    assert isinstance(sys.stdout, CapturingStream), "the second still captures"
    second()
    assert sys.stdout is real
    assert logging.Logger.callHandlers is calls


def test_what_others_have_put_over_a_stand_in_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    end = capture()
    theirs = io.StringIO()
    sys.stdout = theirs
    end()
    assert sys.stdout is theirs


def test_streams_that_others_put_in_place_meanwhile_are_captured_and_still_get_everything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    end = capture()
    theirs = io.StringIO()
    sys.stdout = theirs
    heard = Heard(echo=False)
    work = Work(event=event(), task=TaskSpec("t", Body("python", "t")), body=lambda: print("hello"), output=heard)
    try:
        contextvars.Context().run(call, work, info_of(work.event, output=heard))
    finally:
        end()
    assert (heard.text(), theirs.getvalue()) == ("hello\n", "hello\n")
    assert sys.stdout is theirs


def test_a_stream_that_wraps_a_stand_in_does_not_make_text_appear_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    real = io.StringIO()
    monkeypatch.setattr(sys, "stdout", real)
    end = capture()
    inner = sys.stdout

    class Wrapper(io.StringIO):
        def write(self, text: str) -> int:
            super().write(text)
            return inner.write(text)

    sys.stdout = wrapper = Wrapper()
    stay_in_place()
    heard = Heard()
    run(lambda: print("once"), heard)
    end()
    assert heard.text() == real.getvalue() == wrapper.getvalue() == "once\n"


def test_a_hook_that_others_have_put_over_ours_is_kept_and_never_runs_in_circles(
    begin: Callable[[], Out], monkeypatch: pytest.MonkeyPatch
) -> None:
    begin()
    ours = logging.Logger.callHandlers
    seen: list[str] = []

    def theirs(self: logging.Logger, record: logging.LogRecord) -> None:
        seen.append(record.getMessage())
        ours(self, record)

    heard = Heard()
    with monkeypatch.context() as patch:
        patch.setattr(logging.Logger, "callHandlers", theirs)
        end = capture()
        run(lambda: log.error("once"), heard)
        end()
    assert (seen, heard.text("log")) == (["once"], "ERROR tests.capture: once")


def test_a_stand_in_is_otherwise_the_stream_that_it_stands_for(monkeypatch: pytest.MonkeyPatch) -> None:
    real = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    monkeypatch.setattr(sys, "stdout", real)
    end = capture()
    try:
        assert (sys.stdout.encoding, sys.stdout.isatty(), sys.stdout.buffer) == ("latin-1", False, real.buffer)
        with pytest.raises(TypeError):
            run(lambda: sys.stdout.write(b"bytes"), Heard())  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            copy.deepcopy(sys.stdout)
    finally:
        end()


def test_a_program_without_a_console_can_be_captured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    end = capture()
    relay(Heard(), event(), "stdout", "nowhere to show it")
    end()
    assert sys.stdout is None


def test_what_was_said_elsewhere_is_kept_and_shown_here(begin: Callable[[], Out]) -> None:
    out = begin()
    loud, quiet = Heard(), Heard(echo=False)
    relay(loud, event(), "stdout", "far\n")
    relay(loud, event(), "log", "INFO: far")
    relay(quiet, event(), "stdout", "quiet\n")
    relay(None, event(), "stdout", "nobody listens\n")
    assert loud.said == [(1, "stdout", "far\n"), (1, "log", "INFO: far")]
    assert quiet.text() == "quiet\n"
    assert out.stdout.getvalue() == "far\n"


REPLACED_WITHIN_A_PRINT = """
import io
import subprocess
import sys

from turnout.model.logs import Stream
from turnout.runtime.capture import CapturingStream


class Replacing:
    def __str__(self) -> str:
        sys.stdout = sys.__stdout__
        return "a stream that nothing refers to any more"


for _ in range(100):
    sys.stdout = CapturingStream(io.StringIO(), Stream.STDOUT)
    print("one", Replacing(), "two")
print("survived")
"""


def test_a_stream_that_is_replaced_within_a_print_outlives_it() -> None:
    # In a process of its own: where it fails, the interpreter crashes.
    done = subprocess.run(
        [sys.executable, "-c", REPLACED_WITHIN_A_PRINT], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, "survived\n"), done.stderr
