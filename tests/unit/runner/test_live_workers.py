"""Workers as they are put together from their sessions and from what hubs say, and who is meant by a name."""

from __future__ import annotations

from typing import Any, cast

import msgspec
import pytest
from kit.statuses import hub_of

from turnout import remote, workflow
from turnout.authoring.workflow import Workflow
from turnout.contracts.store import Store
from turnout.dispatcher import RoutingConfig, RoutingRule
from turnout.dispatcher.default import DefaultDispatcher
from turnout.dispatcher.placement import PlacementSettings
from turnout.errors import InvalidInput
from turnout.model.health import Orchestrator
from turnout.model.rows import Session, SessionHealth
from turnout.model.workers import WorkerFacts, WorkerFigures, WorkerReport, WorkerView
from turnout.runner.composition import remote_needs
from turnout.runner.live_sessions import find_worker, live_workers, needs

FACTS = WorkerFacts(name="gpu-1", language="ruby", labels={"gpu": "true"}, handlers=("Train",))


class Sessions:
    """A store that only knows sessions."""

    def __init__(self, *found: SessionHealth) -> None:
        self._found = list(found)

    def session_health(self) -> list[SessionHealth]:
        return self._found


def session(worker_id: str, report: WorkerReport | str | None, kind: str = "worker", **more: Any) -> SessionHealth:
    text = msgspec.json.encode(report).decode() if isinstance(report, WorkerReport) else report
    given = {"age": 60.0, "silent": 1.0} | more
    return SessionHealth(session=Session(id=worker_id, kind=kind, host="box", pid=7), health=text, **given)


def views(*found: SessionHealth, orchestrators: tuple[Orchestrator, ...] = ()) -> list[WorkerView]:
    return live_workers(cast("Store", Sessions(*found)), orchestrators)


def test_a_worker_is_one_over_all_its_hubs() -> None:
    at_first = WorkerFigures(id="w", credits=4, in_flight=1, ended={"completed": 3, "failed": 1}, silent_seconds=3.0)
    at_second = WorkerFigures(id="w", credits=4, in_flight=2, ended={"lost": 2}, breaker="open", cause="Lost: silent")
    report = WorkerReport(facts=FACTS, hub="one", figures=WorkerFigures(id="w", in_flight=99))
    both = (hub_of("one", at_first), hub_of("two", at_second))
    [view] = views(session("w", report), session("o", None, kind="orchestrator"), orchestrators=both)
    assert (view.name, view.language, view.host, view.pid) == ("gpu-1", "ruby", "box", 7)
    assert (view.credits, view.in_flight, view.executed, view.failed, view.lost) == (8, 3, 4, 1, 2)
    assert (view.breaker, view.cause, view.draining) == ("open", "Lost: silent", False)
    assert view.hubs == ("tcp://one:5890", "tcp://two:5890")
    assert view.silent_seconds == 1.0, "the hub that heard it last counts"


def test_what_no_orchestrator_lists_is_known_from_its_session() -> None:
    report = WorkerReport(facts=FACTS, hub="gone", figures=WorkerFigures(id="w", credits=2, in_flight=1))
    [view] = views(session("w", report, drain="deploy"))
    assert (view.credits, view.in_flight, view.hubs) == (2, 1, ("gone",))
    assert (view.draining, view.drain_reason) == (True, "deploy")


@pytest.mark.parametrize("said", [None, "{}", '{"name":"of another version"}'])
def test_of_a_session_that_says_nothing_readable_it_is_known_that_it_is_alive(said: str | None) -> None:
    [view] = views(session("w", said))
    assert (view.id, view.name, view.hubs) == ("w", "w", ())


def view_of(worker_id: str, name: str, **more: Any) -> WorkerView:
    return WorkerView(id=worker_id, name=name, **more)


def test_a_worker_is_found_by_name_id_or_the_beginning_of_its_id() -> None:
    found = [view_of("abc1", "gpu-1"), view_of("abd2", "gpu-2"), view_of("gpu-1x", "cpu")]
    assert find_worker(found, "gpu-1").id == "abc1", "a whole name counts before the beginning of an id"
    assert find_worker(found, "abd2").name == "gpu-2"
    assert find_worker(found, "abc").name == "gpu-1"


@pytest.mark.parametrize(
    ("wanted", "code", "said"),
    [
        ("gpu-3", "worker_not_found", "no worker 'gpu-3' is alive: did you mean 'gpu-"),
        ("", "worker_not_found", "there are"),
        ("ab", "ambiguous_worker", "2 workers answer to 'ab': abc1, abd2"),
        ("twin", "ambiguous_worker", "x1, x2"),
    ],
)
def test_who_is_not_clear_is_refused(wanted: str, code: str, said: str) -> None:
    found = [view_of("abc1", "gpu-1"), view_of("abd2", "gpu-2"), view_of("x1", "twin"), view_of("x2", "twin")]
    with pytest.raises(InvalidInput) as refused:
        find_worker(found, wanted)
    assert refused.value.code == code and said in refused.value.message


@pytest.fixture
def training() -> Workflow[..., Any]:
    """Local, or every Runner of the tests would want a hub for it."""
    train = remote("train", handler="Train", worker_selector={"gpu": "true"})

    @workflow
    def training(x: int) -> Any:
        return train(x=x)

    return training


def test_explain_says_what_a_remote_task_needs_and_who_has_it(training: Workflow[..., Any]) -> None:
    dispatcher = DefaultDispatcher(
        RoutingConfig("default", (RoutingRule("**::nothing", "default"),)), PlacementSettings(hub_configured=True)
    )
    found = {"train": dispatcher.explain(training.spec.tasks[0], training.spec)}
    crew = [
        view_of("a", "fits", labels={"gpu": "true"}, handlers=("Train",)),
        view_of("b", "leaving", labels={"gpu": "true"}, handlers=("Train",), draining=True),
        view_of("c", "no label", handlers=("Train",)),
        view_of("d", "no handler", labels={"gpu": "true"}, handlers=("Ship",)),
    ]
    said = remote_needs(training, found, lambda: crew)["train"]
    assert (said.handler, said.labels, said.matching, said.connected) == ("Train", {"gpu": "true"}, ("fits",), 4)
    assert said.text() == "needs handler Train, labels gpu=true: 1 of 4 connected workers match: fits"
    none = needs(training.spec.tasks[0], found["train"].decision, crew[2:])
    assert none.text() == "needs handler Train, labels gpu=true: none of 2 connected workers has that"


def test_nobody_is_looked_for_where_nothing_goes_to_workers(training: Workflow[..., Any]) -> None:
    dispatcher = DefaultDispatcher(RoutingConfig("default"))
    found = {"train": dispatcher.explain(training.spec.tasks[0], training.spec)}

    def looked() -> list[WorkerView]:
        raise AssertionError("it looked")

    assert remote_needs(training, found, looked) == {}
