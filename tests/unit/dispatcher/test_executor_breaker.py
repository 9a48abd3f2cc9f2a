"""However outcomes come, the breaker of an executor makes legal moves and never lets more probes through than it
may."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from kit.examples import examples

from turnout.dispatcher.executor_breaker import ExecutorBreaker
from turnout.model.breaker import BREAKER_MOVES, BreakerSettings, BreakerState


class Attempts(RuleBasedStateMachine):
    """Attempts reserve places, are handed over or given up, and end in any order."""

    @initialize(threshold=st.integers(1, 3), probes=st.integers(1, 3))
    def begin(self, threshold: int, probes: int) -> None:
        self.now = 0.0
        self.probes = probes
        settings = BreakerSettings(threshold=threshold, recovery=1.0, longest=4.0, probes=probes)
        self.guard = ExecutorBreaker("key", settings, lambda: self.now)
        self.guard.on_change = self.moved
        self.reserved = 0
        self.flying: list[int] = []
        """The rounds in which attempts were let through; 0: it was closed."""
        self.through: dict[int, int] = {}
        """Probes per round that have not ended without a word."""

    def moved(self, before: BreakerState) -> None:
        assert self.guard.breaker.state in BREAKER_MOVES[before]

    @rule(seconds=st.sampled_from([0.5, 1.0, 4.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def reserve(self) -> None:
        if not self.guard.blocking:
            self.reserved += 1
        elif self.guard.free_probes():
            self.reserved += 1
            self.guard.reserve_probe()

    @precondition(lambda self: self.reserved)
    @rule()
    def release(self) -> None:
        self.reserved -= 1
        if self.guard.blocking:
            self.guard.release_probes(self.reserved)

    @precondition(lambda self: self.reserved)
    @rule(data=st.data())
    def hand_over(self, data: st.DataObject) -> None:
        count = data.draw(st.integers(1, self.reserved))
        self.reserved -= count
        if not self.guard.blocking:
            self.flying += [0] * count
            return
        through = self.guard.take_probes(count)
        assert not through or self.guard.breaker.state is BreakerState.HALF_OPEN
        self.flying += [self.guard.round] * through
        self.through[self.guard.round] = self.through.get(self.guard.round, 0) + through

    @precondition(lambda self: self.flying)
    @rule(data=st.data(), at_fault=st.sampled_from([True, False, None]))
    def end(self, data: st.DataObject, at_fault: bool | None) -> None:
        probe = self.flying.pop(data.draw(st.integers(0, len(self.flying) - 1)))
        if probe and at_fault is None:
            self.through[probe] -= 1
        before, decides = self.guard.breaker, probe == self.guard.round
        self.guard.record(at_fault, probe)
        if before.state is BreakerState.HALF_OPEN and not decides:
            assert self.guard.breaker == before
        elif before.state is BreakerState.HALF_OPEN and at_fault is not None:
            expected = BreakerState.OPEN if at_fault else BreakerState.CLOSED
            assert self.guard.breaker.state is expected

    @invariant()
    def no_more_than_the_probes_go_through(self) -> None:
        if hasattr(self, "guard"):
            assert all(count <= self.probes for count in self.through.values())

    @invariant()
    def it_can_always_be_tried_again(self) -> None:
        """Nothing leaks: with no probe on its way, room comes back with time."""
        if hasattr(self, "guard") and self.guard.blocking and not self.reserved and self.guard.round not in self.flying:
            waited, self.now = self.now, self.now + 4.0
            assert self.guard.free_probes() == self.probes
            self.now = waited

    @invariant()
    def what_is_asked_on_the_hot_path_is_true(self) -> None:
        if hasattr(self, "guard"):
            breaker = self.guard.breaker
            assert self.guard.blocking == (breaker.state is not BreakerState.CLOSED)
            assert self.guard.has_failures == (self.guard.blocking or breaker.failures > 0)


Attempts.TestCase.settings = settings(max_examples=examples(200), stateful_step_count=40, deadline=None)
TestGuard = Attempts.TestCase
