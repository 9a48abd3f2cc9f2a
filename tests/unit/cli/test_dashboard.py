"""What ``turnout top`` and ``turnout health`` draw, from what was seen of the orchestrators."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.statuses import BUSY, NOW, orchestrator

from turnout.cli.dashboard import MAX_EVENTS, frame
from turnout.cli.health_tables import pool_lines, trouble_lines
from turnout.cli.output import plain_text
from turnout.cli.watch import as_text
from turnout.model.driver import NOT_DRIVEN, Driver
from turnout.model.executor_status import ExecutorStatus, PoolStatus, StageStatus
from turnout.model.health import Orchestrator, OrchestratorStatus
from turnout.model.states import RunState, TaskState
from turnout.model.workers import HubStatus, WorkerFigures
from turnout.runner.live_sessions import POOLS
from turnout.runner.open_runs import OpenRun, OpenRuns
from turnout.runner.views import RunView

ONE = orchestrator(silent=1.2)


def lines_of(*found: Orchestrator, width: int = 200, height: int | None = None, note: str | None = None) -> list[str]:
    return [plain_text(line) for line in frame(found, NOW, width=width, height=height, note=note)]


def line_with(word: str, lines: list[str]) -> str:
    [line] = [line for line in lines if line.startswith(word)]
    return " ".join(line.split())


def test_everything_is_there() -> None:
    lines = lines_of(ONE)
    assert line_with("web-1:4711", lines) == "web-1:4711 1h02m 1,200 35 % 88 MB 1.2 s ago ! degraded"
    assert line_with("step_enqueuer", lines) == "step_enqueuer 3 1–4 ✓2 !1 █████████░ 93 % 12,345 1,234 closed"
    assert line_with("default", lines) == "default 32/32 8 12.0 1 1.5 s closed"
    assert line_with("own", lines) == "own 1 0 0.0 0 – closed"
    assert line_with("database", lines) == "database 3 of 10 connections in use, 2 waiting"
    assert line_with("saturation", lines) == "saturation █████░░░░░ 50 % backpressure, factor 0.5"
    assert lines[-1].endswith("scaled  step_enqueuer +1: utilisation 93% (3 now)")
    assert "1 orchestrator  ! degraded" in lines[0]


def test_at_sixty_columns_the_figures_that_matter_are_whole() -> None:
    lines = lines_of(ONE, width=60)
    assert line_with("task_request_processor", lines) == "task_request_processor 3 ✓2 !1 93 % 12,345 1,234"
    assert line_with("web-1:4711", lines).endswith("! degraded")
    assert all(len(line) <= 60 for line in lines)


def test_several_orchestrators_have_a_line_each_and_are_summed_up() -> None:
    other = orchestrator(id="b", host="web-2", pid=1)
    lines = lines_of(ONE, other)
    assert "2 orchestrators" in lines[0]
    assert line_with("web-2:1", lines)
    assert line_with("task_claimer", lines).startswith("task_claimer 6 2–8 ✓4 !2 █████████░ 93 % 24,690 2,469")
    assert line_with("database", lines) == "database 6 of 20 connections in use, 4 waiting"
    assert lines[-1].endswith("web-1:4711") or lines[-1].endswith("web-2:1"), "events say whose they are"


def test_workers_are_shown_over_all_hubs_and_their_troubles_named() -> None:
    busy = WorkerFigures(
        id="w1", name="gpu-1", capacity=4, in_flight=3, running=3, ended={"completed": 5, "failed": 2, "lost": 1}
    )
    ill = WorkerFigures(id="w2", name="gpu-2", capacity=4, breaker="open", cause="Lost: silent", draining=True)
    first = OrchestratorStatus(
        hub=HubStatus(workers=2, listed=(busy, ill), waits=("no_worker_matches{a=b} handler x",))
    )
    second = OrchestratorStatus(hub=HubStatus(workers=1, listed=(busy,)))
    found = [Orchestrator(id=str(n), host="h", pid=n, status=status) for n, status in enumerate((first, second))]
    lines = lines_of(*found)
    assert line_with("gpu-1", lines) == "gpu-1 4/4 2 14 4 2 0 ms ago closed", "its places count once"
    assert line_with("gpu-2", lines) == "gpu-2 0/4 0 0 0 0 0 ms ago open draining"
    assert [plain_text(line) for line in trouble_lines(found[:1], 200)] == [
        "! worker gpu-2: its circuit breaker is open; the last failure: Lost: silent",
        "! hub: tasks wait for a worker that is not there: no_worker_matches{a=b} handler x",
    ]


def test_a_picture_names_a_few_workers_and_counts_the_rest() -> None:
    hub = HubStatus(listed=tuple(WorkerFigures(id=f"w{n}", name=f"w{n}", in_flight=n) for n in range(25)))
    lines = lines_of(Orchestrator(id="a", host="h", pid=1, status=OrchestratorStatus(hub=hub)))
    assert "… and 15 more workers" in lines
    assert line_with("w24", lines) and not [line for line in lines if line.startswith("w14 ")]


def test_what_is_wrong_comes_with_its_reason_worst_first() -> None:
    ill = PoolStatus(
        executors=2,
        healthy=1,
        unhealthy=1,
        breaker="open",
        stage_executors=(StageStatus(id="task_claimer-1", state="unhealthy", reason="no sign of life for 61 s"),),
    )
    status = OrchestratorStatus(pools={"task_claimer": ill}, outage="connection refused")
    found = [Orchestrator(id="a", host="h", pid=1, status=status)]
    assert [plain_text(line) for line in trouble_lines(found, 200)] == [
        "✗ database: does not take commits: connection refused",
        "! task_claimer: task_claimer-1 is unhealthy: no sign of life for 61 s",
        "! task_claimer: its circuit breaker is open",
    ]
    [line] = [plain_text(line) for line in pool_lines(found, 200) if line[0][0].startswith("task_claimer")]
    assert "✓1 ✗1" in line and line.endswith("open")


def test_with_nobody_alive_it_says_so_and_waits_on_a_screen() -> None:
    assert lines_of(height=30)[-1] == "no orchestrator is alive: waiting for one"
    assert lines_of()[-1] == "no orchestrator is alive"


def test_what_was_seen_before_the_database_went_away_is_marked() -> None:
    lines = lines_of(ONE, note="the server is away; what follows was seen before")
    assert lines[1] == "the server is away; what follows was seen before"
    assert line_with("web-1:4711", lines)


@pytest.mark.parametrize("height", [10, 26, 28, 40])
def test_events_take_only_the_lines_that_are_left(height: int) -> None:
    many = Orchestrator(id="a", status=OrchestratorStatus(pools=BUSY.pools, events=BUSY.events * 20))
    bare = len(lines_of(Orchestrator(id="a", status=OrchestratorStatus(pools=BUSY.pools)), height=height))
    lines = lines_of(many, height=height)
    assert len(lines) <= max(height, bare)
    assert sum("scaled" in line for line in lines) == max(0, min(MAX_EVENTS, height - bare - 1))


def test_a_frame_is_text_for_rich_that_does_not_wrap() -> None:
    text = as_text(frame([ONE], NOW, width=80))
    assert text.no_wrap and "web-1:4711" in text.plain


names = st.text(st.characters(categories=["L", "N", "P"]), max_size=40)
statuses = st.builds(
    OrchestratorStatus,
    age_seconds=st.floats(0, 1e5),
    uptime_seconds=st.floats(0, 1e9),
    owned_runs=st.integers(0, 10**9),
    cpu_ratio=st.floats(0, 64),
    memory_bytes=st.integers(0, 2**45),
    outage=st.none() | names,
    backpressure=st.floats(0.1, 1),
    saturation=st.floats(0, 1),
    pools=st.dictionaries(
        st.sampled_from(POOLS),
        st.builds(
            PoolStatus,
            executors=st.integers(0, 10**6),
            healthy=st.integers(0, 10**6),
            queued=st.integers(0, 10**9),
            throughput=st.floats(0, 1e9),
            utilisation=st.floats(0, 1),
            breaker=st.sampled_from(["closed", "open", "half_open"]),
        ),
    ),
    executors=st.dictionaries(names, st.builds(ExecutorStatus, active=st.integers(0, 10**9)), max_size=3),
)


@given(
    st.lists(st.builds(Orchestrator, id=names, host=names, pid=st.integers(1, 2**22), status=statuses), max_size=4),
    st.integers(20, 200),
    st.none() | st.integers(1, 60),
)
def test_no_line_is_wider_than_the_screen(found: list[Orchestrator], width: int, height: int | None) -> None:
    assert all(len(plain_text(line)) <= width for line in frame(found, NOW, width=width, height=height))


def open_run(number: int, state: RunState = RunState.RUNNING, reason: str | None = None, **tasks: int) -> OpenRun:
    view = RunView(
        id=f"0199{number:08}", workflow="public::shop::fulfil", state=state, owner="a", created_at=NOW - number
    )
    return OpenRun(view, {TaskState(name): count for name, count in tasks.items()}, reason)


def test_runs_that_work_and_runs_that_wait_stand_above_the_pools() -> None:
    waiting = open_run(60, ready=1, reason="no_worker_matches{gpu=true} handler train")
    # Its owner was killed: that it has one says nothing.
    left = msgspec.structs.replace(open_run(5, running=1), driver=Driver.NOT_DRIVEN)
    runs = OpenRuns((left, waiting, open_run(3, completed=2, running=1)), {RunState.RUNNING: 3}, 1)
    shown = [plain_text(line) for line in frame([ONE], NOW, runs, width=150)]
    assert shown[2] == f"runs  ▶ 3 running  ! 1 {NOT_DRIVEN}"
    assert [line.split()[:2] for line in shown[4:7]] == [[f"0199{n:08}", "fulfil"] for n in (3, 60, 5)]
    assert "▶ running" in shown[4] and "✓ 2  ▶ 1" in shown[4]
    assert "… waiting" in shown[5] and shown[5].endswith(
        "waits for a worker with gpu=true and handler train (no_worker_matches)"
    )
    assert "! not driven" in shown[6]
    assert shown.index(next(line for line in shown if line.startswith("pool"))) > 6
    narrow = [plain_text(line) for line in frame([ONE], NOW, runs, width=80)]
    assert "waits for a worker with" in narrow[5] and all(len(line) <= 80 for line in narrow)


@pytest.mark.parametrize("width", [80, 120])
def test_many_runs_leave_room_for_the_pools(width: int) -> None:
    runs = OpenRuns(tuple(open_run(number, running=1) for number in range(50)), {RunState.RUNNING: 1234})
    shown = [plain_text(line) for line in frame([ONE], NOW, runs, width=width, height=24)]
    assert all(len(line) <= width for line in shown)
    assert "… and 1,230 more runs" in shown
    assert any(line.startswith("task_finalizer") for line in shown[:24]), "the pools are on the screen"


def test_runs_are_shown_also_while_no_orchestrator_is_alive() -> None:
    shown = [plain_text(line) for line in frame([], NOW, OpenRuns((), {RunState.PENDING: 3}, 3), width=80)]
    assert (
        shown[2].startswith("runs  … 3 pending  ! 3 not driven: start the program again")
        and "no orchestrator is alive" in shown[-1]
    )
