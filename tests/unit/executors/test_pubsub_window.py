"""Steps on their way to a subscriber: none is forgotten, none answered twice, none published without end."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from kit.examples import examples

from tests.unit.executors.pubsub_steps import answer, step
from turnout.executors.pubsub.pace import Pace
from turnout.executors.pubsub.window import Window

TIMEOUT, DELIVERIES, BATCH = 10.0, 3, 2


def window(**options: Any) -> Window:
    ids = itertools.count(1)
    bounds = {"batch_size": BATCH, "timeout": TIMEOUT, "deliveries": DELIVERIES} | options
    return Window(**bounds, new_id=lambda: f"batch{next(ids)}")


def publish(found: Window, now: float, to: int = 1) -> list[tuple[str, list[str]]]:
    """Publish all that is overdue or waits; the batches that went out, with their steps."""
    out: list[tuple[str, list[str]]] = []
    for batch in itertools.chain(found.overdue(now), found.fresh()):
        found.published(batch, to, now)
        out.append((batch.id, list(batch.steps)))
    return out


def test_what_waits_goes_out_in_batches_in_its_order() -> None:
    found = window()
    for task in ("a", "b", "c"):
        found.add(step(task), 0)
    assert found.unanswered == 0 and len(found) == 3
    assert publish(found, 0) == [("batch1", ["a", "b"]), ("batch2", ["c"])]
    assert found.unanswered == 3
    assert publish(found, 1) == []


def test_two_attempts_of_one_task_never_share_a_batch() -> None:
    found = window()
    found.add(step("a", 1), 0)
    found.add(step("a", 2), 0)
    assert publish(found, 0) == [("batch1", ["a"]), ("batch2", ["a"])]
    (taken,) = found.answer(answer("batch2", "a"))
    assert taken[0].token == "a:2" and found.unanswered == 1


def test_a_result_is_taken_once_and_only_for_its_batch() -> None:
    found = window()
    found.add(step("a"), 0)
    found.add(step("b"), 0)
    publish(found, 0)
    assert found.answer(answer("another", "a")) == []
    assert [each.step_id for each, _ in found.answer(answer("batch1", "a", "a", "c"))] == ["a"]
    assert found.answer(answer("batch1", "a")) == []
    assert found.unanswered == 1


def test_an_answer_to_a_batch_of_another_orchestrator_is_taken_if_all_attempts_before_were_lost() -> None:
    found = window()
    found.add(step("a", 2), 0)
    found.add(step("b", 2, failures=1), 0)
    found.add(step("c", 1), 0)
    publish(found, 0)
    assert found.answer(answer("gone", "a", token="a:1")) == [], "that is another attempt"
    assert found.answer(answer("gone", "b", "c")) == [], "b was answered before, c was never published before"
    assert [each.token for each, _ in found.answer(answer("gone", "a", "a"))] == ["a:2"]
    assert found.answer(answer("gone", "a")) == []
    assert found.unanswered == 2


def test_an_answer_to_a_batch_that_was_lost_here_is_not_taken_for_the_next_attempt() -> None:
    found = window(deliveries=1)
    found.add(step("a", 1), 0)
    publish(found, 0)
    assert len(found.lost(TIMEOUT, present=True)) == 1
    found.add(step("a", 2), TIMEOUT)
    publish(found, TIMEOUT)
    assert found.answer(answer("batch1", "a")) == []
    assert len(found.answer(answer("batch2", "a"))) == 1


AFTER, LATER = 1.0, 2


def overtaking(**options: Any) -> Window:
    return window(batch_size=1, pace=Pace(LATER, AFTER), timeout=100.0, **options)


def published_and_answered(found: Window, task: str, at: float, took: float = 0.0) -> None:
    found.add(step(task), at)
    [(batch_id, _)] = publish(found, at)
    assert len(found.answer(answer(batch_id, task), at + took)) == 1


def test_a_batch_is_published_again_when_enough_later_ones_were_answered_and_some_time_is_over() -> None:
    found = overtaking()
    found.add(step("lost"), 0.0)
    publish(found, 0.0)
    published_and_answered(found, "b", 0.1)
    assert found.overtaken(50.0) == [], "one later answer is not enough"
    published_and_answered(found, "c", 0.2)
    assert found.overtaken(0.9) == [], "nor is too short a time"
    [batch] = found.overtaken(AFTER)
    assert batch.id == "batch1"
    found.published(batch, 1, AFTER)
    assert found.overtaken(90.0) == [], "what was answered before it went out again does not count"
    published_and_answered(found, "d", 1.1)
    published_and_answered(found, "e", 1.2)
    assert found.overtaken(2.5) == [], "each delivery doubles the time"
    assert [each.id for each in found.overtaken(AFTER + 2 * AFTER)] == ["batch1"]
    assert len(found.answer(answer("batch1", "lost"), 3.5)) == 1
    assert found.overtaken(90.0) == []


def test_a_batch_of_a_handler_that_takes_its_time_is_not_overtaken_by_its_quicker_ones() -> None:
    found = overtaking()
    published_and_answered(found, "slow", 0.0, took=20.0)
    found.add(step("out"), 21.0)
    publish(found, 21.0)
    for task in ("b", "c", "d"):
        published_and_answered(found, task, 21.5)
    assert found.overtaken(21.0 + 30.0) == [], "it may take twice as long as the longest so far"
    assert len(found.overtaken(21.0 + 45.0)) == 1


def test_answers_of_other_handlers_say_nothing_of_a_batch() -> None:
    found = overtaking()
    found.add(msgspec.structs.replace(step("lost"), handler_class="Other"), 0.0)
    publish(found, 0.0)
    for task in ("b", "c", "d"):
        published_and_answered(found, task, 0.1)
    assert found.overtaken(50.0) == []


def test_answered_questions_count_where_nothing_later_is_to_be_answered() -> None:
    pace = Pace(LATER, AFTER)
    found = window(batch_size=1, pace=pace, timeout=100.0)
    for task in ("a", "b"):
        published_and_answered(found, task, 0.0)
    found.add(step("lost"), 1.0)
    publish(found, 1.0)
    assert not found.wants_probe(1.5) and found.wants_probe(2.0) and found.overtaken(2.0) == []
    for _ in range(LATER):
        pace.probed(found.next_order())
    assert not found.wants_probe(2.0) and len(found.overtaken(2.0)) == 1


def test_a_window_without_a_pace_waits_for_the_whole_timeout() -> None:
    found = window(batch_size=1)
    found.add(step("lost"), 0.0)
    publish(found, 0.0)
    for task in ("b", "c", "d", "e", "f", "g"):
        published_and_answered(found, task, 0.1)
    assert found.overtaken(TIMEOUT - 0.1) == [] and not found.wants_probe(TIMEOUT - 0.1)


def test_a_result_with_the_token_of_another_attempt_is_not_taken() -> None:
    found = window()
    found.add(step("a", 2), 0)
    publish(found, 0)
    assert found.answer(answer("batch1", "a", token="a:1")) == []
    assert len(found.answer(answer("batch1", "a", token="a:2"))) == 1


def test_what_is_not_answered_goes_out_again_under_the_same_identity_until_it_is_lost() -> None:
    found = window()
    found.add(step("a"), 0)
    found.add(step("b"), 0)
    publish(found, 0)
    found.answer(answer("batch1", "b"))
    assert publish(found, TIMEOUT - 1) == []
    for delivery in range(1, DELIVERIES):
        assert found.lost(delivery * TIMEOUT, present=True) == []
        assert publish(found, delivery * TIMEOUT) == [("batch1", ["a"])]
    assert found.redelivered == DELIVERIES - 1
    assert [each.step_id for each in found.lost(DELIVERIES * TIMEOUT, present=True)] == ["a"]
    assert len(found) == 0
    assert found.answer(answer("batch1", "a")) == [], "it comes too late"


def test_what_is_overdue_while_nobody_is_there_is_lost() -> None:
    found = window()
    found.add(step("a"), 0)
    publish(found, 0)
    assert found.lost(TIMEOUT - 1, present=False) == []
    assert len(found.lost(TIMEOUT, present=False)) == 1


def test_what_a_subscriber_does_not_let_through_is_lost_in_the_end() -> None:
    found = window()
    found.add(step("a"), 0)
    publish(found, 0)
    assert found.lost(2 * TIMEOUT - 1, present=True) == []
    assert len(found.lost(2 * TIMEOUT, present=True)) == 1


def test_another_subscriber_is_given_at_once_what_the_first_has_not_answered() -> None:
    found = window()
    found.add(step("a"), 0)
    publish(found, 0, to=1)
    found.served(1, 1)
    assert publish(found, 1, to=1) == []
    found.served(2, 2)
    assert publish(found, 2, to=2) == [("batch1", ["a"])]


def test_what_was_never_published_goes_back_when_it_has_waited_for_too_long() -> None:
    found = window()
    found.add(step("a"), 0)
    assert found.never_published(TIMEOUT - 1) == []
    assert [each.step_id for each in found.never_published(TIMEOUT)] == ["a"]
    found.add(step("b"), 0)
    assert [each.step_id for each in found.never_published()] == ["b"]
    assert len(found) == 0


class Steps(RuleBasedStateMachine):
    """Anything may happen to a step, in any order: it leaves the window exactly once, and for one reason."""

    def __init__(self) -> None:
        super().__init__()
        self.window = window()
        self.now = 0.0
        self.numbers = itertools.count(1)
        self.inside: set[str] = set()
        self.deliveries: dict[str, int] = {}
        self.batch_of: dict[str, str] = {}
        self.subscriber = 1

    def left(self, tokens: list[str]) -> None:
        assert len(tokens) == len(set(tokens)) and self.inside.issuperset(tokens)
        self.inside.difference_update(tokens)

    @rule(count=st.integers(1, 5))
    def given(self, count: int) -> None:
        for _ in range(count):
            new = step(str(next(self.numbers)))
            self.window.add(new, self.now)
            self.inside.add(new.token)

    @rule(room=st.integers(0, 4))
    def publish(self, room: int) -> None:
        for batch in itertools.islice(itertools.chain(self.window.overdue(self.now), self.window.fresh()), room):
            assert 1 <= len(batch.steps) <= BATCH
            self.window.published(batch, self.subscriber, self.now)
            for each in batch.steps.values():
                assert each.token in self.inside, "what has left is not published"
                assert self.batch_of.setdefault(each.token, batch.id) == batch.id
                self.deliveries[each.token] = self.deliveries.get(each.token, 0) + 1
                assert self.deliveries[each.token] <= DELIVERIES

    @rule(data=st.data(), twice=st.booleans())
    def answered(self, data: st.DataObject, twice: bool) -> None:
        """Of what was ever published: late answers and those of what was cancelled are among them."""
        if self.batch_of:
            tokens = data.draw(st.lists(st.sampled_from(sorted(self.batch_of)), max_size=4))
            for token in tokens * (1 + twice):
                taken = self.window.answer(answer(self.batch_of[token], token.partition(":")[0]))
                assert [each.token for each, _ in taken] == ([token] if token in self.inside else [])
                self.left([each.token for each, _ in taken])

    @rule(data=st.data())
    def cancelled(self, data: st.DataObject) -> None:
        if self.inside:
            token = data.draw(st.sampled_from(sorted(self.inside)))
            assert self.window.remove(token) is (token in self.batch_of)
            self.left([token])

    @rule(seconds=st.floats(0, TIMEOUT), present=st.booleans())
    def time_passes(self, seconds: float, present: bool) -> None:
        self.now += seconds
        back, lost = self.window.never_published(self.now), self.window.lost(self.now, present)
        assert not any(each.token in self.batch_of for each in back), "what was published may have run"
        assert all(each.token in self.batch_of for each in lost)
        self.left([each.token for each in (*back, *lost)])

    @rule()
    def somebody_else_is_served(self) -> None:
        self.subscriber += 1
        self.window.served(self.subscriber, self.now)

    @invariant()
    def it_holds_what_has_not_left(self) -> None:
        assert len(self.window) == len(self.inside)
        assert self.window.unanswered == len(self.inside & self.batch_of.keys())

    def teardown(self) -> None:
        """In the end nothing is left inside, even if nobody ever answers."""
        for _ in range(2 * DELIVERIES + 3):
            self.time_passes(TIMEOUT, True)
            self.publish(100)
        self.time_passes(TIMEOUT, True)
        assert not self.inside


TestSteps = Steps.TestCase
TestSteps.settings = settings(max_examples=examples(60), stateful_step_count=40)
