"""A trace goes on after its orchestrator was killed: the next owner has the same ids, and no span comes twice."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

import pytest

from tests.kit.collector import collector
from tests.kit.forked import Forked
from tests.kit.waiting import until
from turnout.model.trace_ids import attempt_span_id, run_span_id

pytestmark = pytest.mark.timeout(280)

PROGRAM = """
import sys
import time
from pathlib import Path

from turnout import Runner, task, workflow


@task
def prepare() -> int:
    return 21


@task
def hold(number: int) -> int:
    Path("holding").touch()
    while not Path("open").exists():
        time.sleep(0.01)
    return 2 * number


@workflow
def held() -> int:
    return hold(prepare())


with Runner("sqlite:///runs.db") as runner:
    print("ready", flush=True)
    if sys.argv[1] == "submit":
        print(runner.submit(held).id, flush=True)
    while not Path("end").exists():
        time.sleep(0.01)
"""


def test_the_next_owner_continues_the_trace_and_sends_no_span_twice(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    with collector() as seen:
        environment = {
            **os.environ,
            "TURNOUT_TELEMETRY__ENABLED": "true",
            "TURNOUT_TELEMETRY__ENDPOINT": seen.url,
            "TURNOUT_TELEMETRY__EXPORT_INTERVAL": "20ms",
        }
        first = Forked(["program.py", "submit"], cwd=tmp_path, env=environment)
        second = None
        try:
            assert first.stdout is not None
            assert first.stdout.readline() == "ready\n"
            run_id = first.stdout.readline().strip()
            until((tmp_path / "holding").exists, "the body did not begin")
            before = seen.one("commit prepare")
            first.kill()
            first.wait()
            second = Forked(["program.py", "serve"], cwd=tmp_path, env=environment)
            assert second.stdout is not None
            assert second.stdout.readline() == "ready\n"
            (tmp_path / "open").touch()
            whole = seen.one("run held")
            (tmp_path / "end").touch()
            assert second.wait(60) == 0
        finally:
            for process in (first, second):
                if process is not None and process.poll() is None:
                    process.kill()
        assert {span.trace_id for span in seen.spans} == {uuid.UUID(run_id).hex}
        assert whole.span_id == before.parent_id == f"{run_span_id(run_id):016x}"
        assert before.resource["process.pid"] != whole.resource["process.pid"], "two processes sent it"
        ids = [span.span_id for span in seen.spans]
        assert len(ids) == len(set(ids)), "a span came twice"
        attempts = seen.named("attempt hold")
        assert [span.attributes["turnout.outcome"] for span in attempts] == ["lost", "completed"]
        numbers = [span.attributes["turnout.attempt"] for span in attempts]
        assert [span.span_id for span in attempts] == [f"{attempt_span_id(run_id, 1, each):016x}" for each in numbers]
        assert attempts[0].failed and {span.parent_id for span in attempts} == {whole.span_id}
