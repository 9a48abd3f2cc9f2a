"""Lines of workers are acknowledged when they are stored, and results wait for the lines that came before them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from unit.executors.test_hub import RUN, Desk, failed_of, run

from turnout.errors import StoreUnreachable
from turnout.executors.workers.in_flight import token_of
from turnout.executors.workers.step_lines import MANY
from turnout.model.events import TaskReadyEvent
from turnout.model.logs import StoredLines
from turnout.wire.messages import Ack, Line, Log, Logged


class Lines:
    """Lines that are stored when the test says so."""

    echo = False

    def __init__(self) -> None:
        self.texts: dict[str, dict[int, str]] = {}
        self.hurried = 0
        self._stored: Callable[[Sequence[StoredLines]], object] = lambda stored: None

    def add_numbered(self, source: TaskReadyEvent, first: int, lines: Sequence[tuple[str, str]]) -> None:
        token = token_of(source.task_id, source.attempt)
        self.texts.setdefault(token, {}).update((number, text) for number, (_, text) in enumerate(lines, first))

    def hurry(self) -> None:
        self.hurried += 1

    def on_stored(self, callback: Callable[[Sequence[StoredLines]], object]) -> None:
        self._stored = callback

    async def store(self, desk: Desk, token: str, next_line: int) -> None:
        task, _, attempt = token.partition(":")
        self._stored([StoredLines(task, int(attempt), next_line)])
        await desk.settle()


def log(token: str, first: int, *texts: str) -> Log:
    return Log(token, first, tuple(Line("stdout", text) for text in texts))


def logged(desk: Desk) -> list[int]:
    return [message.next for message in desk.said() if isinstance(message, Logged)]


async def with_a_step() -> tuple[Desk, Lines, str]:
    desk, lines = Desk(), Lines()
    desk.hub.bind_lines(lines)
    await desk.greet()
    event = desk.assigned(output=lambda source, stream, text: None)
    await desk.execute(event)
    desk.said()
    return desk, lines, token_of(event.task_id, event.attempt)


def test_lines_are_acknowledged_when_they_are_stored() -> None:
    async def scenario() -> None:
        desk, lines, token = await with_a_step()
        await desk.hear(log(token, 0, "a", "b"))
        assert lines.texts[token] == {0: "a", 1: "b"} and not logged(desk)
        await lines.store(desk, token, 1)
        await lines.store(desk, token, 2)
        assert logged(desk) == [1, 2]

    run(scenario)


def test_many_lines_at_once_are_stored_without_delay() -> None:
    async def scenario() -> None:
        desk, lines, token = await with_a_step()
        await desk.hear(log(token, 0, *["a"] * (MANY - 1)))
        assert not lines.hurried
        await desk.hear(log(token, MANY - 1, *["b"] * MANY))
        assert lines.hurried == 1

    run(scenario)


def test_a_result_waits_for_the_lines_that_came_before_it() -> None:
    async def scenario() -> None:
        desk, lines, token = await with_a_step()
        await desk.hear(log(token, 0, "a", "b"))
        await desk.answer(failed_of(token))
        assert not desk.results and lines.hurried == 1
        await lines.store(desk, token, 1)
        assert not desk.results
        await lines.store(desk, token, 2)
        assert len(desk.results) == 1

    run(scenario)


def test_results_do_not_wait_once_other_orchestrators_drive_their_runs() -> None:
    async def scenario() -> None:
        desk, _, token = await with_a_step()
        await desk.hear(log(token, 0, "a"))
        await desk.answer(failed_of(token))
        desk.hub.disown()
        assert [str(result.status) for result in desk.results] == ["retry"], "the result, and not that it is lost"

    run(scenario)


def test_lines_that_are_not_kept_are_acknowledged_at_once() -> None:
    async def scenario() -> None:
        desk = Desk()
        await desk.greet()
        event = desk.assigned()
        await desk.execute(event)
        desk.said()
        await desk.hear(log(token_of(event.task_id, event.attempt), 0, "a", "b"))
        assert logged(desk) == [2]

    run(scenario)


def test_lines_of_a_step_that_another_hub_gave_are_stored_if_the_database_confirms_it() -> None:
    async def scenario() -> None:
        desk, lines = Desk(), Lines()
        desk.hub.bind_lines(lines)
        ours, theirs = f"{RUN}.1:2", f"{RUN}.2:1"
        desk.database.wanted = frozenset({(f"{RUN}.1", 2)})
        await desk.greet()
        await desk.beat((ours, "running"), (theirs, "running"))
        desk.said()
        desk.database.trouble = StoreUnreachable("away")
        await desk.hear(log(ours, 40, "forty"))
        assert not lines.texts and not logged(desk), "the worker sends them again"
        desk.database.trouble = None
        await desk.hear(log(ours, 40, "forty"))
        await desk.hear(log(ours, 40, "forty", "forty-one"))
        await desk.hear(log(theirs, 0, "of another worker"))
        assert lines.texts == {ours: {40: "forty", 41: "forty-one"}} and logged(desk) == [1]
        await desk.answer(failed_of(ours))
        assert not desk.database.posted, "its lines are not stored yet"
        await lines.store(desk, ours, 42)
        assert [result.task_id for result in desk.database.posted] == [f"{RUN}.1"]
        said = desk.said()
        assert [message.next for message in said if isinstance(message, Logged)] == [42]
        assert [message.tokens for message in said if isinstance(message, Ack)] == [(ours,)]

    run(scenario)


def test_a_result_that_overtakes_the_look_at_the_database_is_left_to_be_sent_again() -> None:
    async def scenario() -> None:
        desk, lines, token = Desk(), Lines(), f"{RUN}.1:2"
        desk.hub.bind_lines(lines)
        desk.database.wanted = frozenset({(f"{RUN}.1", 2)})
        await desk.greet()
        await desk.beat((token, "done"))
        desk.database.answers.clear()
        await desk.hear(log(token, 0, "a"))
        await desk.answer(failed_of(token))
        desk.database.answers.set()
        await desk.settle()
        assert lines.texts == {token: {0: "a"}} and not desk.database.posted
        await desk.answer(failed_of(token))
        await lines.store(desk, token, 1)
        assert len(desk.database.posted) == 1

    run(scenario)
