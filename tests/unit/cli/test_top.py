"""What ``turnout top`` looks at, while the database comes, goes and hangs."""

from __future__ import annotations

import queue
import threading
from pathlib import Path

import pytest

from turnout import Runner
from turnout.cli import top
from turnout.cli.database import StatusReader
from turnout.cli.top import Refresher
from turnout.errors import DatabaseNotFound, StoreUnreachable
from turnout.model.health import Orchestrator

WAIT = 20.0
ONE, OTHER = Orchestrator(id="one"), Orchestrator(id="other")


class Looks:
    """Answers that the test gives, each when it likes."""

    def __init__(self) -> None:
        self.answers: queue.Queue[list[Orchestrator] | StoreUnreachable] = queue.Queue()
        self.asked: queue.Queue[None] = queue.Queue()

    def __call__(self) -> list[Orchestrator]:
        self.asked.put(None)
        answer = self.answers.get(timeout=WAIT)
        if isinstance(answer, StoreUnreachable):
            raise answer
        return answer

    def answer(self, *answers: list[Orchestrator] | StoreUnreachable) -> None:
        """Give these, and return when all of them were taken in."""
        for each in answers:
            self.asked.get(timeout=WAIT)
            self.answers.put(each)
        self.asked.get(timeout=WAIT)
        self.asked.put(None)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(top, "POLL_INTERVAL", 0.001)


def test_while_the_database_is_away_what_was_seen_before_stays_with_a_note() -> None:
    looks = Looks()
    seen = Refresher(looks, [ONE])
    seen.start()
    looks.answer(StoreUnreachable("the server is away"))
    assert (seen.latest, seen.note) == ([ONE], "the server is away; what follows was seen before")
    looks.answer([OTHER])
    assert (seen.latest, seen.note) == ([OTHER], None)
    looks.answers.put([])
    seen.stop()


def test_a_look_that_hangs_is_left_behind() -> None:
    hanging, let_go = threading.Event(), threading.Event()

    def look() -> list[Orchestrator]:
        hanging.set()
        assert let_go.wait(WAIT)
        return []

    seen = Refresher(look, [])
    seen.start()
    assert hanging.wait(WAIT)
    assert seen.stop() is False
    let_go.set()


def test_the_projects_own_database_may_come_later_and_is_not_made_by_looking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "turnout.toml").touch()
    source = StatusReader(None)
    assert source.orchestrators() == [] and not (tmp_path / ".turnout").exists()
    with Runner(workflows=(), handle_sigterm=False) as runner:
        assert [one.id for one in source.orchestrators()] == [runner.core.engine.session.id]
    source.close()


def test_a_database_that_was_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(DatabaseNotFound, match=r"later\.db"):
        StatusReader(f"sqlite:///{tmp_path}/later.db").orchestrators()
    assert not (tmp_path / "later.db").exists()
