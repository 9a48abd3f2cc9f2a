"""After the database was away nobody is declared dead before all had the time to come back."""

from __future__ import annotations

from turnout.orchestration.upkeep.dead_sessions import Outage

LEASE = 15.0


def test_while_the_database_answers_a_lease_means_what_it_says() -> None:
    outage = Outage(LEASE, 0.0)
    assert [outage.grace(now) for now in (0.0, 100.0)] == [0.0, 0.0]


def test_after_an_outage_leases_that_ended_meanwhile_mean_nothing_for_the_time_of_one() -> None:
    outage = Outage(LEASE, 0.0)
    for now in (100.0, 130.0, 159.0):
        outage.away(now)
    grace = outage.grace(160.0)
    assert grace >= 60.0 + LEASE, "the last renewal may have been just before it"
    assert outage.grace(160.0 + LEASE - 1) == grace
    assert outage.grace(160.0 + LEASE + 1) == 0.0


def test_workers_and_pollers_have_one_lease_to_come_back_to_an_orchestrator_that_has_started() -> None:
    outage = Outage(LEASE, 100.0)
    assert [outage.spares_holders(now) for now in (100.0, 114.9, 115.1)] == [True, True, False]
    assert outage.grace(101.0) == 0.0, "a dead owner's lease means what it says"


def test_an_absence_in_which_no_lease_could_end_changes_nothing() -> None:
    outage = Outage(LEASE, 0.0)
    outage.away(100.0)
    assert outage.grace(102.0) == 0.0
    outage.away(200.0)
    assert outage.grace(202.0) == 0.0, "two short ones are not one long one"
