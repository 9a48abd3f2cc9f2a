"""Who is served: one that has shown to be there, and nobody beside it."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from turnout.executors.pubsub.subscribers import ANSWER_TIMEOUT, MAX_SUBSCRIBERS, Subscriber, Subscribers


def came(found: Subscribers, now: float = 0.0) -> Subscriber:
    new = found.came(b"steps", now)
    assert new is not None
    return new


def served(found: Subscribers, now: float = 0.0) -> Subscriber:
    """The first that is asked answers."""
    channel, question = found.questions(now)[0]
    answering = found.answered(question)
    assert answering is not None and answering.channel == channel and found.served == answering
    return answering


def test_nobody_is_served_before_it_has_answered() -> None:
    found = Subscribers("p")
    assert not found.asking and found.questions(0) == []
    new = came(found)
    assert found.served is None and found.asking
    ((channel, question),) = found.questions(0)
    assert channel == new.channel == 0 and found.is_question(question)
    assert found.answered("question_other_1_1") is None and not found.is_question("batch_1")
    assert found.answered(question) == new == found.served
    assert found.answered(question) is None, "once is enough"
    assert found.questions(100) == []


def test_questions_are_repeated_ever_more_slowly() -> None:
    found = Subscribers("p")
    came(found)
    asked = [now for now in range(0, 2000, 10) if found.questions(now / 1000)]
    gaps = [later - earlier for earlier, later in pairwise(asked)]
    assert gaps == sorted(gaps) and 4 <= len(asked) <= 7
    assert found.asked_before


def test_one_that_answers_no_questions_is_served_after_a_while_if_it_is_alone() -> None:
    found = Subscribers("p")
    new = came(found)
    assert found.waited(ANSWER_TIMEOUT - 0.1) is None
    assert found.waited(ANSWER_TIMEOUT) == new == found.served


def test_a_second_is_refused_and_the_first_goes_on() -> None:
    found = Subscribers("p")
    first = came(found)
    served(found)
    second = came(found, 1)
    assert second.channel != first.channel and found.refused == 1
    assert found.served == first and found.questions(1) == []


def test_if_somebody_leaves_while_two_are_there_they_are_asked_and_the_first_has_its_chance_first() -> None:
    found = Subscribers("p")
    first = came(found)
    served(found)
    second = came(found)
    found.left(b"steps", 10)
    assert found.served is None, "it may have been the first"
    assert [channel for channel, _ in found.questions(10)] == [first.channel]
    later = 10 + ANSWER_TIMEOUT
    assert found.waited(later) is None, "two are known, one is there: it must show"
    asked = dict(found.questions(later))
    assert set(asked) == {first.channel, second.channel}
    assert found.answered(asked[second.channel]) == second
    assert found.channels == [second.channel], "there is only one left"


def test_the_first_stays_served_if_it_answers() -> None:
    found = Subscribers("p")
    first = came(found)
    served(found)
    came(found)
    found.left(b"steps", 10)
    assert served(found, 10) == first


def test_an_answer_from_before_somebody_left_proves_nothing() -> None:
    found = Subscribers("p")
    came(found)
    ((_, old),) = found.questions(0)
    found.answered(old)
    came(found)
    found.left(b"steps", 10)
    assert found.answered(old) is None and found.asking


def test_when_all_have_left_the_next_begins_anew() -> None:
    found = Subscribers("p")
    first = came(found)
    served(found)
    found.left(b"steps", 1)
    assert found.served is None and not found.asking and found.channels == []
    again = came(found, 2)
    assert again.channel == first.channel and again.number != first.number
    assert served(found, 2) == again


def test_only_who_wants_steps_counts() -> None:
    found = Subscribers("p")
    assert found.came(b"steps_archive", 0) is None and found.came(b"other", 0) is None
    found.left(b"other", 0)
    assert found.present == 0
    for topic in (b"", b"s", b"steps", b"steps "):
        each = Subscribers("p")
        assert each.came(topic, 0) is not None and each.present == 1


@given(st.lists(st.sampled_from(["came", "left", "ask", "answer", "wait"]), max_size=60))
def test_whatever_happens_at_most_one_of_those_that_are_there_is_served(moves: list[str]) -> None:
    found, now, asked = Subscribers("p"), 0.0, [""]
    for move in moves:
        now += 0.5
        before = found.served
        match move:
            case "came":
                new = found.came(b"steps", now)
                assert found.served == before, "who comes takes nothing from who is there"
                assert new is None or new.channel in found.channels
            case "left":
                found.left(b"steps", now)
                assert found.served is None
            case "ask":
                asked += [question for _, question in found.questions(now)]
            case "answer":
                found.answered(asked[-1])
            case _:
                found.waited(now)
        assert len(found.channels) == len(set(found.channels)) <= MAX_SUBSCRIBERS
        assert found.served is None or found.served.channel in found.channels
        assert found.present > 0 or (found.served is None and not found.channels)
