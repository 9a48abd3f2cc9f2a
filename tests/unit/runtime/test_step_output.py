"""What steps say, on its way from their threads to the one that has the sockets."""

from __future__ import annotations

from unit.wire.network import step

from turnout.runtime.log_buffer import LogSettings
from turnout.runtime.step_output import MAX_PROGRESS, StepOutput, progress_in
from turnout.wire.step_codec import event_of

ONE, OTHER = event_of(step("a.1")), event_of(step("b.1", shadow=True))
KEY, OTHER_KEY = ("a", 1, False), ("b", 1, True)


def heard(
    spoken: StepOutput, last: tuple[str, int, bool] | None = None
) -> list[tuple[tuple[str, int, bool], str, str]]:
    said: list[tuple[tuple[str, int, bool], str, str]] = []

    def say(*line: object) -> None:
        said.append(line)  # type: ignore[arg-type]

    if last is None:
        spoken.take(say)
    else:
        spoken.take_last(last, say)
    return said


def test_pieces_become_lines_of_their_attempts_in_order() -> None:
    spoken = StepOutput(LogSettings())
    spoken(ONE, "stdout", "hel")
    spoken(OTHER, "stderr", "other\n")
    spoken(ONE, "stdout", "lo\nrest")
    spoken(ONE, "log", "INFO: x")
    assert heard(spoken) == [(OTHER_KEY, "stderr", "other"), (KEY, "stdout", "hello"), (KEY, "log", "INFO: x")]
    assert not spoken.silent
    assert heard(spoken, KEY) == [(KEY, "stdout", "rest")]
    assert spoken.silent


def test_progress_is_told_as_it_is_made_and_too_much_of_it_gives_way_to_the_newest() -> None:
    spoken = StepOutput(LogSettings())
    for done in range(100):
        spoken(ONE, "progress", f'{{"done":{done}}}')
    said = heard(spoken)
    assert len(said) == MAX_PROGRESS and said[0][2] == '{"done":0}' and said[-1][2] == '{"done":99}'
    progress = progress_in(*said[-1][1:])
    assert progress is not None and progress.done == 99
    assert progress_in("stdout", "x") is None


def test_what_one_attempt_says_is_bounded() -> None:
    spoken = StepOutput(LogSettings(max_attempt_logs=1_000))
    for number in range(1_000):
        spoken(ONE, "stdout", f"line {number}\n")
    said = heard(spoken)
    assert len(said) < 200 and "not kept" in said[-1][2]
