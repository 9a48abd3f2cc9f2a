"""Decisions about due times, with a simulated clock: each is decided once, over DST, downtime and clock steps."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from itertools import count
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout.model.schedule_decisions import (
    MAX_QUEUED,
    REASONS,
    Decided,
    Facts,
    decide,
    restarted_until,
    skip_until,
    without_superseded,
)
from turnout.model.schedules import CatchUp, Overlap, ScheduleSpec, due_times

DAY = 86_400.0
START = datetime(2026, 3, 2, 12, tzinfo=ZoneInfo("UTC")).timestamp()
HOURLY = ScheduleSpec(name="hourly", cron="0 * * * *")
CATCH_UPS: list[CatchUp] = ["skip", "latest", "all"]
OVERLAPS: list[Overlap] = ["skip", "queue", "cancel_previous", "allow"]


class Simulated:
    """A schedule whose due times are decided whenever its clock says so. Runs end when the test says so."""

    def __init__(self, spec: ScheduleSpec, now: float) -> None:
        self.spec = spec
        self.begin = self.cursor = now
        self.unfinished: list[str] = []
        self.decisions: list[Decided] = []
        self._ids = count(1)

    def at(
        self, now: float, *, queued: int = 0, succeeded_at: float | None = None, open_runs: tuple[str, ...] = ()
    ) -> list[Decided]:
        facts = Facts(
            now=now, unfinished=self.unfinished, queued=queued, succeeded_at=succeeded_at, open_runs=open_runs
        )
        turn = decide(self.spec, "key", self.cursor, facts, lambda: f"run-{next(self._ids)}")
        assert turn.cursor >= self.cursor
        self.cursor = turn.cursor
        self.decisions += turn.decisions
        for each in turn.decisions:
            self.unfinished = [run for run in self.unfinished if run not in each.cancels]
            self.unfinished += [each.run_id] if each.run_id else []
        return list(turn.decisions)

    def run(self, times: Iterable[float]) -> None:
        for now in times:
            self.at(now)
            self.unfinished = []

    def covered(self) -> list[float]:
        """Returns the due times that were decided, in the order of the decisions."""
        found: list[float] = []
        for each in self.decisions:
            times = list(due_times(self.spec, each.due_at - 0.5, each.last_due_at))
            assert len(times) == each.due_times
            found += times
        return found

    @property
    def fired(self) -> list[Decided]:
        return [each for each in self.decisions if each.outcome == "fired"]

    @property
    def reasons(self) -> list[str]:
        return [each.reason.partition("{")[0] for each in self.decisions]


@pytest.mark.parametrize("zone", ["Europe/Rome", "America/New_York", "Australia/Lord_Howe", "America/Santiago"])
@pytest.mark.parametrize("expression", ["30 2 * * *", "45 1 * * *", "0 0 * * *", "30 23 * * *"])
def test_a_daily_schedule_fires_once_on_every_day_of_a_year_with_both_changes(zone: str, expression: str) -> None:
    tz = ZoneInfo(zone)
    begin = datetime(2026, 1, 1, tzinfo=tz).timestamp()
    daily = Simulated(ScheduleSpec(name="daily", cron=expression, timezone=zone), begin)
    end = datetime(2027, 1, 1, tzinfo=tz).timestamp()
    # Around the changes every quarter of an hour, else twice a day and at the due times themselves.
    times = {begin + number * DAY / 2 for number in range(730)}
    for month, day in ((3, 8), (3, 29), (4, 5), (9, 6), (10, 4), (10, 25), (11, 1)):
        around = datetime(2026, month, day, tzinfo=tz).timestamp() - 7_200
        times |= {around + number * 900 for number in range(25)}
    times |= set(due_times(daily.spec, begin, end))
    daily.run(sorted(times))
    dates = [datetime.fromtimestamp(each.due_at, tz).date() for each in daily.fired]
    assert len(dates) == len(set(dates)) == 365
    assert all(reason == "on_time" for reason in daily.reasons)


@pytest.mark.parametrize(
    ("zone", "changes"),
    [
        ("Europe/Rome", ((3, 29), (10, 25))),
        ("America/New_York", ((3, 8), (11, 1))),
        ("Australia/Lord_Howe", ((4, 5), (10, 4))),
        ("America/Santiago", ((4, 5), (9, 6))),
    ],
)
def test_an_expression_that_begins_with_a_star_fires_after_every_half_hour_that_passes(
    zone: str, changes: tuple[tuple[int, int], ...]
) -> None:
    spec = ScheduleSpec(name="often", cron="*/30 * * * *", timezone=zone, catch_up="all", overlap="allow")
    for month, day in changes:
        begin = datetime(2026, month, day, tzinfo=ZoneInfo("UTC")).timestamp() - DAY + 900
        often = Simulated(spec, begin)
        often.run(begin + number * 3_600 for number in range(49))
        assert often.covered() == [each.due_at for each in often.fired]
        assert [each.due_at for each in often.fired] == [begin + 900 + number * 1_800 for number in range(96)]


@pytest.mark.parametrize("catch_up", CATCH_UPS)
@pytest.mark.parametrize("step", [3_600.0, -3_600.0])
def test_a_step_of_the_clock_decides_no_due_time_twice_and_none_is_left_out(catch_up: CatchUp, step: float) -> None:
    spec = ScheduleSpec(name="often", every=600, catch_up=catch_up, overlap="allow")
    stepped = Simulated(spec, START)
    true = [START + number * 60 + 30 for number in range(121)]
    stepped.run(true)
    stepped.run(now + step for now in (true[-1] + number * 60 for number in range(1, 240)))
    covered = stepped.covered()
    assert covered == list(due_times(spec, START, stepped.cursor))
    fired = len(stepped.fired)
    missed = sum(each.due_times for each in stepped.decisions if each.outcome == "skipped")
    if step < 0:
        assert missed == 0  # it waits until the clock has reached the cursor
    else:
        # The hour that was left out is downtime.
        assert missed == {"skip": 6, "latest": 5, "all": 0}[catch_up]
    assert fired == len(covered) - missed


DOWNTIME = {
    # 72 hours are missed; an earlier run has not ended. What fires of the missed, its reason; why others do not.
    ("skip", "skip"): (0, "", {"missed"}),
    ("skip", "queue"): (0, "", {"missed"}),
    ("skip", "cancel_previous"): (0, "", {"missed"}),
    ("skip", "allow"): (0, "", {"missed"}),
    ("latest", "skip"): (0, "", {"missed", "overlap"}),
    ("latest", "queue"): (1, "queued", {"missed"}),
    ("latest", "cancel_previous"): (1, "cancelled_previous", {"missed"}),
    ("latest", "allow"): (1, "caught_up", {"missed"}),
    ("all", "skip"): (0, "", {"catch_up_limit", "overlap"}),
    ("all", "queue"): (50, "queued", {"catch_up_limit"}),
    ("all", "cancel_previous"): (1, "cancelled_previous", {"catch_up_limit", "superseded"}),
    ("all", "allow"): (50, "caught_up", {"catch_up_limit"}),
}


@pytest.mark.parametrize("overlap", OVERLAPS)
@pytest.mark.parametrize("catch_up", CATCH_UPS)
def test_three_days_of_downtime_follow_the_policies(catch_up: CatchUp, overlap: Overlap) -> None:
    spec = msgspec.structs.replace(HOURLY, catch_up=catch_up, overlap=overlap, max_catch_up=50)
    down = Simulated(spec, START)
    [before] = down.at(START + 3_600)
    back = START + 3_600 + 3 * DAY + 1_800
    made = down.at(back)
    assert down.covered() == list(due_times(spec, START, back))
    assert sum(each.due_times for each in made) == 72
    fires, reason, skips = DOWNTIME[catch_up, overlap]
    fired = [each for each in made if each.outcome == "fired"]
    assert len(fired) == fires
    assert {each.reason.partition("{")[0] for each in fired} <= {reason}
    assert {each.reason.partition("{")[0] for each in made if each.outcome == "skipped"} == skips
    if overlap == "cancel_previous" and fires:
        assert fired[-1].cancels == fired[-1].waits_for == (before.run_id,)
    if overlap == "queue" and fires:
        assert fired[0].waits_for == (before.run_id,)
        assert fired[-1].waits_for == (before.run_id, *(each.run_id for each in fired[:-1]))
    if overlap == "allow":
        assert all(not each.waits_for and not each.cancels for each in fired)


@pytest.mark.parametrize("catch_up", CATCH_UPS)
def test_downtime_without_an_earlier_run_fires_by_the_catch_up_policy(catch_up: CatchUp) -> None:
    spec = msgspec.structs.replace(HOURLY, catch_up=catch_up, overlap="allow", max_catch_up=1_000)
    down = Simulated(spec, START)
    down.at(START + 3 * DAY + 1_800)
    assert len(down.fired) == {"skip": 0, "latest": 1, "all": 72}[catch_up]
    assert len(down.decisions) == {"skip": 1, "latest": 2, "all": 72}[catch_up]


def test_a_due_time_that_is_a_little_late_is_not_missed() -> None:
    late = Simulated(HOURLY, START)
    assert [each.reason for each in late.at(START + 3_600 + 59)] == ["on_time"]


def test_the_newest_of_several_due_times_fires_although_others_were_missed() -> None:
    often = Simulated(ScheduleSpec(name="often", every=1), START)
    made = often.at(START + 5)
    assert [(each.outcome, each.due_times) for each in made] == [("skipped", 4), ("fired", 1)]


@given(
    st.lists(st.floats(-3_700, 7_300), min_size=1, max_size=40),
    st.sampled_from(CATCH_UPS),
    st.sampled_from(OVERLAPS),
    st.sampled_from([0.0, 45.0]),
)
def test_whatever_the_clock_does_each_due_time_is_decided_once_and_in_order(
    steps: list[float], catch_up: CatchUp, overlap: Overlap, jitter: float
) -> None:
    spec = ScheduleSpec(name="often", every=60, catch_up=catch_up, overlap=overlap, jitter=jitter, max_catch_up=20)
    wild, now = Simulated(spec, START), START
    for step in steps:
        now += step
        wild.at(now, queued=len(wild.unfinished))
        wild.unfinished = wild.unfinished[-2:]
    assert wild.covered() == list(due_times(spec, START, wild.cursor))
    assert len(wild.fired) == len({each.run_id for each in wild.fired})


def test_a_full_queue_skips() -> None:
    queue = Simulated(msgspec.structs.replace(HOURLY, overlap="queue"), START)
    queue.unfinished = ["run-0"]
    assert [each.reason for each in queue.at(START + 3_600, queued=MAX_QUEUED)] == ["queue_full"]


def test_a_run_that_succeeded_by_hand_since_the_previous_due_time_replaces_the_next() -> None:
    spec = msgspec.structs.replace(HOURLY, skip_if_successful=True)
    by_hand = Simulated(spec, START)
    assert [each.reason for each in by_hand.at(START + 3_600, succeeded_at=START + 10)] == ["already_successful"]
    assert [each.reason for each in by_hand.at(START + 7_200, succeeded_at=START + 10)] == ["on_time"]


def test_a_stop_cancels_what_is_open_and_starts_nothing() -> None:
    stop = Simulated(msgspec.structs.replace(HOURLY, action="stop"), START)
    assert [each.reason for each in stop.at(START + 3_600)] == ["nothing_to_stop"]
    [made] = stop.at(START + 7_200, open_runs=("a", "b"))
    assert (made.outcome, made.run_id, made.cancels) == ("fired", None, ("a", "b"))


def test_a_restart_cancels_what_is_open_and_starts_a_run_after_that() -> None:
    restart = Simulated(msgspec.structs.replace(HOURLY, action="restart", catch_up="all"), START)
    *_, made = restart.at(START + 3 * 3_600, open_runs=("a",))
    assert (made.outcome, made.cancels, made.waits_for) == ("fired", ("a",), ("a",))
    assert len(restart.fired) == 1
    [made] = restart.at(START + 4 * 3_600)
    assert (made.run_id, made.cancels) == ("run-2", ())


def test_a_restart_replaces_the_starts_that_are_due_with_it_or_before_it() -> None:
    ids = map("run-{}".format, count(1))
    queued = msgspec.structs.replace(HOURLY, overlap="queue", catch_up="all")
    started = decide(queued, "key", START, Facts(now=START + 3 * 3_600), lambda: next(ids))
    assert [each.waits_for for each in started.decisions] == [(), ("run-1",), ("run-1", "run-2")]
    again = msgspec.structs.replace(HOURLY, action="restart")
    restarted = restarted_until(again, decide(again, "again", START, Facts(now=START + 2 * 3_600), lambda: "new"))
    assert restarted == START + 2 * 3_600
    skipped, kept = without_superseded(started, restarted).decisions
    assert (skipped.outcome, skipped.reason, skipped.due_times) == ("skipped", "superseded", 2)
    assert (kept.due_at, kept.run_id, kept.waits_for) == (START + 3 * 3_600, "run-3", ())
    assert without_superseded(started, restarted_until(queued, started)) is started


def test_jitter_delays_a_due_time_and_those_behind_it() -> None:
    spec = msgspec.structs.replace(HOURLY, jitter=30.0)
    turn = decide(spec, "key", START, Facts(now=START), lambda: "run-1")
    assert turn.next_at is not None
    assert START + 3_600 <= turn.next_at <= START + 3_630
    assert decide(spec, "key", START, Facts(now=turn.next_at - 0.001), lambda: "run-1").decisions == ()
    assert len(decide(spec, "key", START, Facts(now=turn.next_at), lambda: "run-1").decisions) == 1


def test_due_times_while_paused_are_one_decision() -> None:
    turn = skip_until(HOURLY, "key", START, START + 5 * 3_600 + 10, "paused")
    [made] = turn.decisions
    assert (made.due_times, made.reason, turn.cursor) == (5, "paused", START + 5 * 3_600 + 10)
    assert turn.next_at == START + 6 * 3_600
    assert skip_until(HOURLY, "key", START, START + 10, "paused").decisions == ()


def test_every_reason_is_explained() -> None:
    assert all(text.endswith(".") for text in REASONS.values())
