"""A handler that kills its worker beside others: they finish, and it fails when its budget is spent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.children import eventually
from tests.faults.guarantees import check_history, query
from tests.faults.languages import python
from tests.faults.workers import Notes, Workers
from turnout import Runner, remote, workflow
from turnout.executors.workers.settings import HubSettings
from turnout.model.verdict import LOSSES_BEFORE_EXCLUSIVE, Limits
from turnout.orchestration.settings import EngineSettings

COMPANY = 7
LOSSES = 5
PLACES = 4


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[Workers]:
    found = Workers({"python": python()}, [], Notes(tmp_path / "notes"))
    yield found
    found.end()


def test_a_handler_that_kills_its_worker_takes_others_with_it_twice_and_no_more(
    postgres_url: str, workers: Workers
) -> None:
    deadly = remote("deadly", handler="elsewhere.deadly")

    @workflow
    def deadly_across(text: str, guilty: bool) -> str:
        return deadly(text=text, seconds=0.2, guilty=guilty)

    settings = EngineSettings(limits=Limits(losses=LOSSES))
    hub = HubSettings(address="tcp://127.0.0.1:0", heartbeat=0.5, lease=90.0)
    with Runner(postgres_url, hub=hub, workflows=[deadly_across], settings=settings, handle_sigterm=False) as runner:
        assert runner.hub is not None
        workers.hubs = [runner.hub]
        guilty = runner.submit(deadly_across, "guilty", True)
        others = [runner.submit(deadly_across, f"r{number}", False) for number in range(COMPANY)]
        posts = [workers.start("python", concurrency=PLACES) for _ in range(2)]

        def over() -> bool:
            posts[:] = [each if each.alive else workers.start("python", concurrency=PLACES) for each in posts]
            return all(run.status().state.terminal for run in (guilty, *others))

        eventually("all have ended", over)
        assert [run.result() for run in others] == [f"r{number}>deadly" for number in range(COMPANY)]
    ledger = check_history(postgres_url)
    losses = {str(run_id): lost for run_id, lost in query(postgres_url, "select run_id, losses from task")}
    assert losses.pop(guilty.id) == LOSSES
    assert max(losses.values()) <= LOSSES_BEFORE_EXCLUSIVE
    dead = ledger.tasks[guilty.id, 0]
    assert (dead.state, dead.reason) == ("failed", "lost_too_often")
    begun = Counter(each.token.rpartition(":")[0] for each in workers.notes.all())
    assert begun[f"{guilty.id}.0"] == LOSSES
    assert sum(not each.alive for each in workers.started) == LOSSES
