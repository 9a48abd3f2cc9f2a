"""``turnout limits`` and the limits of ``turnout runs show``, on a database."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.command import Project

pytestmark = pytest.mark.timeout(900)

FILE = """
params: {CUSTOMER: "17"}
queue: nightly
limit: {name: "customer-${CUSTOMER}", at_most: 1}
steps: [echo hello]
"""


def test_limits_are_listed_and_shown_with_what_waits(tmp_path: Path) -> None:
    project = Project(tmp_path)
    (tmp_path / "import.yaml").write_text(FILE)
    assert project.run("limits", "ls").out == "no limits\n"
    refused = project.run("enqueue", "import.yaml")
    assert refused.code == 2 and "error[unknown_queue]" in refused.err and "[queues.nightly]" in refused.err, refused
    with (tmp_path / "turnout.toml").open("a") as config:
        config.write("\n[queues.nightly]\nmax_active_runs = 2\n\n[limits.mail]\nrate = 10\nper = '1m'\n")
    first, second = (project.run("enqueue", "import.yaml", "--json").json["run_id"] for _ in range(2))
    listed = project.run("limits", "ls", "--json").json
    assert [(each["name"], each["held"], each["waiting"]) for each in listed] == [
        ("customer-17", 0, 2),
        ("queue:nightly", 0, 2),
    ]
    shown = project.run("limits", "show", "nightly")
    assert shown.code == 0 and f"1. {first[:23]}" in shown.out and f"2. {second[:23]}" in shown.out, shown
    run = project.run("runs", "show", second)
    assert "limit customer-17, position 2" in run.out and "limit queue:nightly, position 2" in run.out, run
    assert [each["position"] for each in project.run("runs", "show", second, "--json").json["limits"]] == [2, 2]
    unknown = project.run("limits", "show", "customer-18")
    assert unknown.code == 2 and "error[limit_not_found]" in unknown.err, unknown
    done = project.run("run", "import.yaml", "-p", "CUSTOMER=19")
    assert done.code == 0, done
    assert ("mail", 10) in [(each["name"], each["rate"]) for each in project.run("limits", "ls", "--json").json]


def test_validate_reports_limits_that_no_run_could_get(tmp_path: Path) -> None:
    project = Project(tmp_path)
    flows = tmp_path / "limited"
    flows.mkdir()
    (flows / "one.yaml").write_text("limit: {name: db, at_most: 1}\nsteps: [echo one]\n")
    (flows / "three.yaml").write_text("limit: {name: db, at_most: 3}\nsteps: [echo three]\n")
    (flows / "queued.yaml").write_text("queue: nosuch\nsteps: [echo queued]\n")
    (flows / "nightly.yaml").write_text('schedule: "0 3 * * *"\nqueue: nosuch\nsteps: [echo nightly]\n')
    found = {Path(each["target"]).stem: each for each in project.run("validate", "limited", "--json").json}
    for name in ("one", "three"):
        [warning] = [each for each in found[name]["warnings"] if "different sizes" in each]
        assert "1 at once by workflow 'one'; 3 at once by workflow 'three'; 1 at once is in force" in warning
    assert found["queued"]["ok"] and any("[queues.nosuch]" in each for each in found["queued"]["warnings"])
    assert not found["nightly"]["ok"] and found["nightly"]["error"]["code"] == "unknown_queue"


def test_validate_reports_what_starts_by_itself_and_never_will(tmp_path: Path) -> None:
    project = Project(tmp_path)
    (tmp_path / "past.yaml").write_text('schedule: {at: "2020-01-01T03:00"}\nsteps: [echo late]\n')
    [found] = project.run("validate", "past.yaml", "--json").json
    [warning] = [each for each in found["warnings"] if "schedule" in each]
    assert found["ok"] and "schedule 'start-1' has its only time in the past, 2020-01-01T03:00:00+00:00" in warning
    (tmp_path / "polled.py").write_text(
        "from turnout import Event, trigger\n"
        '@trigger(every="30s", workflow="pasd")\n'
        "def orders():\n"
        '    yield Event("a")\n'
        '@trigger(every="30s", workflow="past")\n'
        "def others():\n"
        '    yield Event("b")\n'
    )
    wrong = project.run("validate", "past.yaml", "polled.py", "--json")
    [refused] = [each["error"] for each in wrong.json if not each["ok"] and "orders" in each["error"]["message"]]
    assert wrong.code == 2 and refused["code"] == "unknown_workflow"
    assert "workflow 'pasd', which is not known: did you mean 'past'?" in refused["message"]
    assert not any("'others'" in each["error"]["message"] for each in wrong.json if not each["ok"])
