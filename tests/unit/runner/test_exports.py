"""What ``turnout.runner`` exports, and what it does not load."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import turnout.runner

EXPORTED = {
    "AsyncRunHandle",
    "AsyncRunner",
    "AttemptView",
    "CoordinatorSettings",
    "Deleted",
    "EngineSettings",
    "LogLine",
    "LogSettings",
    "NotificationSettings",
    "Poller",
    "PoolSettings",
    "PoolsSettings",
    "Retention",
    "RulesInForce",
    "RunHandle",
    "RunView",
    "Runner",
    "SmtpSettings",
    "TaskDetail",
    "TaskFailure",
    "TaskView",
    "TriggerRow",
    "WorkerView",
}


def test_the_exported_names_are_these() -> None:
    assert set(turnout.runner.__all__) == EXPORTED
    assert all(getattr(turnout.runner, name) is not None for name in EXPORTED)


def test_yaml_is_loaded_only_where_a_yaml_file_is_read(tmp_path: Path) -> None:
    code = (
        "import pathlib, sys, turnout.runner\n"
        "from turnout.runner.config import read_config\n"
        "seen = []\n"
        "for name, text in (('a.toml', 'tenant = \"x\"'), ('a.yaml', 'tenant: x')):\n"
        "    pathlib.Path(name).write_text(text)\n"
        "    assert read_config(pathlib.Path(), {'TURNOUT_CONFIG': name}).get('tenant') == 'x'\n"
        "    seen.append('yaml' in sys.modules)\n"
        "print(seen)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[False, True]"
