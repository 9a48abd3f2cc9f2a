"""A plain installation has neither psycopg, pyzmq nor litestar: SQLite works, and what needs more names the extra."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HIDDEN = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        hidden = {"psycopg", "psycopg_binary", "zmq", "litestar", "uvicorn", "opentelemetry"}
        if name.partition(".")[0] in hidden | {"lightkube", "ray", "distributed"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
"""


@pytest.fixture
def plain(tmp_path: Path) -> dict[str, str]:
    """An environment in which the packages of the extras cannot be imported."""
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text(HIDDEN)
    return {**os.environ, "PYTHONPATH": f"{hidden}{os.pathsep}{ROOT / 'src'}"}


def run(environment: dict[str, str], folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_first_example_of_the_readme_runs(plain: dict[str, str], tmp_path: Path) -> None:
    found = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert found is not None
    (tmp_path / "first.py").write_text(found[1])
    done = run(plain, tmp_path, "first.py")
    assert (done.returncode, done.stdout) == (0, "Ada: paid 21\n"), done.stderr
    listed = run(plain, tmp_path, "-m", "turnout", "runs", "ls", "-d", "sqlite:///orders.db", "--json")
    assert listed.returncode == 0 and json.loads(listed.stdout), listed.stderr


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (("runs", "ls", "-d", "postgresql://localhost/none"), "postgres"),
        (("worker", "--connect", "tcp://127.0.0.1:9", "--import", "json"), "workers"),
        (("keys", "generate", "hub.key"), "workers"),
        (("conformance", "--cmd", "true"), "workers"),
        (("server", "--port", "0"), "server"),
        (("dev", "--port", "0"), "server"),
    ],
    ids=lambda each: " ".join(each[:2]) if isinstance(each, tuple) else each,
)
def test_a_command_that_needs_more_names_the_extra(
    arguments: tuple[str, ...], extra: str, plain: dict[str, str], tmp_path: Path
) -> None:
    done = run(plain, tmp_path, "-m", "turnout", *arguments)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("error[missing_extra]: ") and f"pip install 'turnout[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_tokens_are_managed_without_the_server(plain: dict[str, str], tmp_path: Path) -> None:
    done = run(plain, tmp_path, "-m", "turnout", "tokens", "create", "ci", "-d", "sqlite:///a.db")
    assert done.returncode == 0 and done.stdout.startswith("to_"), done.stderr


def test_a_runner_with_a_hub_names_the_extra(plain: dict[str, str], tmp_path: Path) -> None:
    code = (
        "from turnout import Runner\n"
        "try: Runner('sqlite:///a.db', hub='tcp://127.0.0.1:0')\n"
        "except ImportError as error: print(error)\n"
    )
    done = run(plain, tmp_path, "-c", code)
    assert "turnout[workers]" in done.stdout, done.stderr


def test_an_executor_of_the_configuration_names_the_extra(plain: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "turnout.toml").write_text('[executors.cluster]\nuse = "kubernetes"\nimage = "shop:1"\n')
    hidden = tmp_path / "hidden" / "sitecustomize.py"
    hidden.write_text(HIDDEN.replace('"zmq", ', ""))
    done = run(plain, tmp_path, "-m", "turnout", "config", "check")
    assert "turnout[kubernetes]" in done.stderr + done.stdout, done.stderr


@pytest.mark.parametrize("extra", ["ray", "dask"])
def test_an_executor_on_a_cluster_names_the_extra(extra: str, plain: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "turnout.toml").write_text(f'[executors.far]\nuse = "{extra}"\naddress = "127.0.0.1:1"\n')
    done = run(plain, tmp_path, "-m", "turnout", "config", "check")
    assert done.returncode == 2 and f"pip install 'turnout[{extra}]'" in done.stderr, done.stderr


def test_handlers_are_written_and_tested_without_sockets(plain: dict[str, str], tmp_path: Path) -> None:
    code = (
        "from turnout.worker import handler, run_step\n"
        "@handler('Add')\n"
        "def add(a, b): return a + b\n"
        "print(run_step(add, {'metadata': {'args': {'a': 1, 'b': 2}}}).output)\n"
    )
    done = run(plain, tmp_path, "-c", code)
    assert done.stdout == "3\n", done.stderr


def test_every_extra_that_is_named_exists() -> None:
    from turnout.model.extras import EXTRAS

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {extra for extra, _ in EXTRAS.values()} | {"all"} <= set(project["optional-dependencies"])
    optional = ("psycopg", "zmq", "litestar", "uvicorn", "opentelemetry", "ray", "dask", "kubernetes", "lightkube")
    assert not any(name in each for name in optional for each in project["dependencies"])
    assert not any("kubernetes" in each for each in project["optional-dependencies"]["all"])


def test_extras_for_development_are_shown_to_no_user() -> None:
    from turnout.cli.installed_extras import NOT_FOR_USERS
    from turnout.model.extras import EXTRAS

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(project["optional-dependencies"]) - NOT_FOR_USERS == {extra for extra, _ in EXTRAS.values()}


def test_telemetry_names_its_extra(plain: dict[str, str], tmp_path: Path) -> None:
    enabled = {**plain, "TURNOUT_TELEMETRY__ENABLED": "true"}
    code = "from turnout import Runner\ntry: Runner('sqlite:///a.db')\nexcept ImportError as error: print(error)\n"
    done = run(enabled, tmp_path, "-c", code)
    assert "turnout[otel]" in done.stdout, done.stderr


def test_a_program_without_telemetry_imports_nothing_of_it(tmp_path: Path) -> None:
    """The packages of all extras are installed here; a run on SQLite loads none of them."""
    code = (
        "import sys\n"
        "from turnout import Runner, task, workflow\n"
        "@task\n"
        "def one(): return 1\n"
        "@workflow\n"
        "def flow(): return one()\n"
        "with Runner('sqlite:///a.db') as runner: runner.run(flow)\n"
        "roots = {name.partition('.')[0] for name in sys.modules}\n"
        "print(sorted(roots & {'opentelemetry', 'psycopg', 'zmq', 'litestar', 'uvicorn', 'ray', 'distributed'}))\n"
        "print([name for name in sorted(sys.modules) if name.startswith('turnout.telemetry.')])\n"
    )
    done = run({**os.environ, "PYTHONPATH": str(ROOT / "src")}, tmp_path, "-c", code)
    assert done.stdout.splitlines() == ["[]", "['turnout.telemetry.settings']"], done.stdout + done.stderr
