"""The pages about clusters tell the truth: their modules run on a real cluster, as the pages show it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit.sites import ROOT, SITES

pytestmark = pytest.mark.timeout(280)


@pytest.mark.parametrize("name", ["dask", "ray"])
def test_the_example_of_the_page_runs_on_a_cluster(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = SITES[name]
    if (missing := kind.missing()) is not None:
        print(missing)
        pytest.skip(missing)
    page = (ROOT / f"docs/how-to/{name}.md").read_text()
    (module,) = re.findall(r"^Put this into `(\w+)\.py`", page, re.MULTILINE)
    (code,) = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (call, shown) = re.findall(r"runner\.run\((.*?)\)\n('.*?')\n", page)[0]
    (tmp_path / f"{module}.py").write_text(code)
    (options,) = re.findall(r"^```toml\n(\[executors.*?)^```$", page, re.MULTILINE | re.DOTALL)
    program = (
        f"import sys\nfrom {module} import *\n\n"
        f"with runner_on('sqlite:///runs.db', sys.argv[1]) as runner:\n    print(repr(runner.run({call})))\n"
    )
    configured = (
        f"from {module} import *\n\n"
        f"with Runner('sqlite:///configured.db', workflows=[{call.partition(',')[0]}]) as runner:\n"
        f"    run = runner.submit({call})\n    print(repr(run.result()))\n"
        "    print(sorted({each.executor for each in run.attempts()}))\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{ROOT / 'src'}")
    site = kind(tmp_path)

    def said_by(*arguments: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, *arguments], cwd=tmp_path, check=False, capture_output=True, text=True, timeout=200
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    try:
        site.start()
        assert said_by("-c", program, site.address)[-1] == shown
        (tmp_path / "turnout.toml").write_text(
            re.sub(r'^address = ".*"', f'address = "{site.address}"', options, flags=re.MULTILINE)
        )
        assert said_by("-c", configured)[-2:] == [shown, str(sorted([name, "default"]))]
        doctor = "\n".join(said_by("-m", "turnout", "doctor", "-d", "sqlite:///configured.db"))
        assert re.search(rf"executor {name}\W+reachable", doctor), doctor
    finally:
        site.close()
