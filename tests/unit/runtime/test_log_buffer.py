"""Lines are put together from pieces, kept in order, and bounded in every direction."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout.errors import InvalidSetting
from turnout.runtime.log_buffer import MAX_ATTEMPTS, OVERHEAD, LogBuffer, LogSettings
from turnout.runtime.log_lines import Line

KEY = ("run", 0, 1)
OTHER = ("run", 1, 1)


def buffer(**settings: int) -> LogBuffer:
    return LogBuffer(LogSettings(**settings))


def said(buffer: LogBuffer, *pieces: str, stream: str = "stdout", key: tuple[str, int, int] = KEY) -> LogBuffer:
    for number, piece in enumerate(pieces):
        buffer.add(key, "t", stream, piece, 1000.0 + number)
    return buffer


def texts(lines: list[Line]) -> list[str]:
    return [line.text for line in lines]


def all_of(buffer: LogBuffer) -> list[str]:
    buffer.settle(math.inf)
    lines: list[Line] = []
    while taken := buffer.take(1_000):
        lines += taken
    return texts(lines)


# -- lines ------------------------------------------------------------------------------------------------------------
@given(st.lists(st.text(alphabet="ab\n", max_size=8)))
def test_pieces_make_up_the_lines_that_they_are_the_text_of(pieces: list[str]) -> None:
    whole = "".join(pieces)
    lines = whole.split("\n")
    if not lines[-1]:
        lines.pop()
    assert all_of(said(buffer(), *pieces)) == lines


def test_the_beginning_of_a_line_waits_for_its_end() -> None:
    some = said(buffer(), "half a ")
    assert (some.pending, some.unfinished) == (0, True)
    said(some, "line\nand ")
    assert texts(some.take(10)) == ["half a line"]
    assert some.unfinished
    some.settle(999.0)
    assert some.pending == 0, "it was begun later than that"
    some.settle(1000.0)
    assert texts(some.take(10)) == ["and "]
    assert not some.unfinished


def test_two_streams_of_an_attempt_do_not_mix() -> None:
    some = buffer()
    said(some, "out")
    said(some, "err", stream="stderr")
    said(some, "put\n")
    said(some, "or\n", stream="stderr")
    assert [(line.stream, line.text) for line in some.take(10)] == [("stdout", "output"), ("stderr", "error")]


def test_after_a_carriage_return_a_line_starts_over() -> None:
    assert all_of(said(buffer(), "10 %\r", "50 %\r", "100 %\n", "next\r\n")) == ["100 %", "next"]


def test_a_record_and_a_word_on_progress_are_whole_as_they_come() -> None:
    some = said(buffer(), "first\nsecond", stream="log")
    said(some, "1/9", "2/9", "3/9", stream="progress")
    assert all_of(some) == ["first\nsecond", "3/9"], "of progress only the newest counts"


def test_what_no_database_keeps_is_replaced() -> None:
    assert all_of(said(buffer(), "a\x00b \ud800 ü\n")) == ["a\ufffdb ? ü"]


def test_lines_go_out_in_the_order_in_which_they_were_said() -> None:
    some = buffer()
    for number in range(50):
        said(some, f"{number}\n", key=(f"run{number % 3}", number % 5, 1))
    got = [text for _ in range(10) for text in texts(some.take(7))]
    assert got == [str(number) for number in range(50)]


def test_the_numbers_of_an_attempts_lines_grow_even_if_the_clock_goes_back() -> None:
    some = buffer()
    for at in (5.0, 3.0, 5.0):
        some.add(KEY, "t", "stdout", "x\n", at)
    numbers = [line.seq for line in some.take(10)]
    assert numbers == sorted(set(numbers))


# -- bounds -----------------------------------------------------------------------------------------------------------
def test_a_long_line_is_cut_and_says_by_how_much() -> None:
    expected = ["abcde… (3 characters more)", "short"]
    assert all_of(said(buffer(max_line=5), "abcdefgh\nshort\n")) == expected
    assert all_of(said(buffer(max_line=5), *"abcdefgh", "\nshort\n")) == expected
    assert all_of(said(buffer(max_line=5), "abcdefgh", stream="log")) == expected[:1]


def test_a_line_without_an_end_stays_small() -> None:
    some = buffer(max_line=5)
    for _ in range(1_000):
        said(some, "x" * 100)
    assert all_of(some) == ["xxxxx… (99,995 characters more)"]


def test_an_attempt_that_says_too_much_is_cut_and_its_last_line_says_so() -> None:
    some = said(buffer(max_attempt_logs=30), *(f"line {number:03}\n" for number in range(100)))
    said(some, "another attempt\n", key=OTHER)
    lines = all_of(some)
    assert lines[:3] == ["line 000", "line 001", "line 002"]
    assert lines[3:] == ["turnout: more than 30 bytes: the rest of this attempt's lines is not kept", "another attempt"]


def test_when_memory_is_full_the_oldest_lines_of_the_noisiest_attempt_go() -> None:
    some = buffer(max_waiting_logs=100 * (OVERHEAD + 4))
    said(some, *["good\n"] * 10, key=OTHER)
    said(some, *(f"{number:04}\n" for number in range(500)))
    lines = all_of(some)
    noisy = [line for line in lines if line.isdigit()]
    (note,) = [line for line in lines if line.startswith("turnout")]
    assert lines.count("good") == 10
    assert noisy == [f"{number:04}" for number in range(500 - len(noisy), 500)], "the newest are there"
    assert note == f"turnout: {500 - len(noisy)} lines were dropped here: they came faster than the database took them"
    assert lines.index(note) < lines.index(noisy[0])
    assert some.lost == 500 - len(noisy)


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("say"), st.integers(0, 3), st.integers(1, 30)),
            st.tuples(st.just("write"), st.integers(1, 20), st.booleans()),
        ),
        max_size=60,
    )
)
def test_every_line_is_written_or_counted_as_lost_and_memory_stays_bounded(steps: list[tuple[str, int, int]]) -> None:
    bound = 20 * (OVERHEAD + 10)
    some = buffer(max_waiting_logs=bound)
    said_by: dict[int, int] = {}
    written: list[Line] = []
    for what, first, second in steps:
        if what == "say":
            for _ in range(second):
                number = said_by[first] = said_by.get(first, 0) + 1
                said(some, f"{number}\n", key=("run", first, 1))
            assert some.size <= bound
        else:
            lines = some.take(first)
            if second:
                written += lines
            else:
                some.put_back(lines)
    while rest := some.take(7):
        written += rest
    assert (some.size, some.pending) == (0, 0)
    for pos, count in said_by.items():
        lines = [line for line in written if line.log.key[1] == pos]
        kept = [int(line.text) for line in lines if not line.lost]
        assert kept == sorted(kept), "in order"
        assert len(kept) + sum(line.lost for line in lines) == count, "none vanished"
        numbers = [line.seq for line in lines]
        assert len(numbers) == len(set(numbers))


def test_what_is_being_written_makes_no_new_line_give_way() -> None:
    some = buffer(max_waiting_logs=20 * (OVERHEAD + 4))
    said(some, *(f"{number:04}\n" for number in range(20)))
    in_flight = some.take(1_000)
    assert len(in_flight) <= 5, "a share of the memory at a time"
    said(some, *(f"{number:04}\n" for number in range(20, 60)))
    some.put_back(in_flight)
    assert all_of(some)[-1] == "0059"


def test_attempts_that_were_heard_long_ago_are_forgotten() -> None:
    some = buffer()
    for number in range(MAX_ATTEMPTS + 50):
        said(some, "x\n", key=("run", number, 1))
        some.take(1)
    assert not some.knows(("run", 0, 1))
    assert some.knows(("run", MAX_ATTEMPTS + 49, 1))


@pytest.mark.parametrize("field", ["log_flush", "max_line", "max_attempt_logs", "max_waiting_logs"])
def test_a_bound_that_makes_no_sense_is_refused(field: str) -> None:
    with pytest.raises(InvalidSetting) as caught:
        LogSettings(**{field: 0}).check()  # type: ignore[arg-type]
    assert caught.value.fields == {"field": f"orchestration.logs.{field}"}


# -- numbered lines ---------------------------------------------------------------------------------------------------
def numbered(some: LogBuffer, first: int, *lines: str, stream: str = "stdout") -> LogBuffer:
    some.add_numbered(KEY, "t", first, [(stream, text) for text in lines], 1000.0)
    return some


def test_numbered_lines_are_kept_once_under_their_numbers() -> None:
    some = numbered(buffer(), 0, "a", "b")
    numbered(some, 1, "b", "c")
    assert [(line.seq, line.text) for line in some.take(10)] == [(0, "a"), (1, "b"), (2, "c")]


def test_numbered_lines_are_stored_when_they_are_written_and_not_before() -> None:
    some = numbered(buffer(), 0, "a", "b")
    assert some.take_stored() == [(KEY, 0)] and some.take_stored() == []
    first = some.take(1)
    numbered(some, 2, "c")
    assert some.take_stored() == [(KEY, 0)]
    some.put_back(first)
    some.written(some.take(1))
    assert some.take_stored() == [(KEY, 1)]
    some.written(some.take(10))
    assert some.take_stored() == [(KEY, 3)]


def test_lines_before_the_first_number_were_stored_by_another_hub() -> None:
    some = numbered(buffer(), 7)
    assert some.take_stored() == [(KEY, 7)]


def test_numbered_lines_that_are_not_kept_count_as_stored_after_those_before_them() -> None:
    some = numbered(buffer(max_attempt_logs=5), 0, "abcd", "efgh", "ijkl")
    taken = some.take(10)
    assert [line.seq for line in taken] == [0, 1] and "is not kept" in taken[1].text
    assert some.take_stored() == [(KEY, 0)]
    some.written(taken)
    assert some.take_stored() == [(KEY, 3)]
    numbered(some, 3, "mnop")
    assert some.take_stored() == [(KEY, 4)] and not some.pending


def test_numbered_lines_that_are_dropped_for_want_of_memory_do_not_wait() -> None:
    some = numbered(buffer(max_waiting_logs=3 * OVERHEAD), 0, *"abcdefgh")
    assert some.take_stored() == [(KEY, 6)]
    written: list[tuple[int, int]] = []
    while taken := some.take(10):
        some.written(taken)
        written += [(line.seq, line.lost) for line in taken]
    assert written == [(5, 6), (6, 0), (7, 0)]
    assert some.take_stored() == [(KEY, 8)]


def test_a_numbered_line_is_shown_as_a_terminal_would() -> None:
    some = numbered(buffer(max_line=5), 0, "10 %\r100 %", "whole\r", "a\x00b")
    numbered(some, 3, "one\rtwo\nthree", stream="log")
    assert all_of(some) == ["100 %", "whole", "a\ufffdb", "one\rt… (8 characters more)"]
