"""The build of the web interface: what is installed, when it is built again, and what is said where it cannot be."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
NPM = """#!/bin/sh
echo "npm $*" >> "$CALLS"
[ "$FAILS" = "$1" ] && exit 7
[ "$1" = run ] && { mkdir -p ../src/turnout/server/static/ui; echo page > ../src/turnout/server/static/ui/index.html; }
[ "$1" = install ] && mkdir -p node_modules
exit 0
"""


class Checkout:
    """A tree with the build script and a small interface, and programs that stand for node and npm."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "checkout"
        (self.root / "tools").mkdir(parents=True)
        shutil.copy(ROOT / "tools" / "ui.py", self.root / "tools")
        for name in ("package.json", "package-lock.json", "index.html", "src/main.tsx"):
            path = self.root / "ui" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("{}")
        self.page = self.root / "src/turnout/server/static/ui/index.html"
        self._programs = folder / "programs"
        self._programs.mkdir()
        self._calls = folder / "calls"
        self.add("node", "#!/bin/sh\necho v22.1.0\n")
        self.add("npm", NPM)

    def add(self, name: str, text: str) -> None:
        program = self._programs / name
        program.write_text(text)
        program.chmod(0o755)

    def build(self, fails: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-P", str(self.root / "tools" / "ui.py"), "build"],
            env={"PATH": f"{self._programs}:/usr/bin:/bin", "CALLS": str(self._calls), "FAILS": fails},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def calls(self) -> list[str]:
        """Returns the calls of npm since the last question."""
        found = self._calls.read_text().splitlines() if self._calls.is_file() else []
        self._calls.unlink(missing_ok=True)
        return found


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_a_build_installs_what_it_needs_once_and_runs_again_when_a_source_changed(checkout: Checkout) -> None:
    assert checkout.build().returncode == 0 and checkout.page.is_file()
    install, build = checkout.calls()
    assert "--omit=dev" in install and "--ignore-scripts" in install and build == "npm run --silent build"
    again = checkout.build()
    assert again.returncode == 0 and "up to date" in again.stdout and checkout.calls() == []
    (checkout.root / "ui/src/main.tsx").write_text("changed")
    assert checkout.build().returncode == 0 and checkout.calls() == ["npm run --silent build"]


def test_a_build_runs_again_when_a_file_changed_that_pages_import_from_outside_of_ui(checkout: Checkout) -> None:
    sources = [path for path in (ROOT / "ui" / "src").rglob("*.ts*") if ".test." not in path.name]
    named = [(path, name) for path in sources for name in re.findall(r"[\"'](\.\.?/[^\"']+)[\"']", path.read_text())]
    targets = {(path.parent / name).resolve() for path, name in named}
    outside = [each.relative_to(ROOT) for each in targets if each.is_file() and ROOT / "ui" not in each.parents]
    assert Path("docs/reference/workflow.schema.json") in outside
    for each in outside:
        checkout.build()
        checkout.calls()
        (checkout.root / each).parent.mkdir(parents=True, exist_ok=True)
        (checkout.root / each).write_text("changed")
        assert checkout.build().returncode == 0 and checkout.calls() == ["npm run --silent build"], each


def test_a_page_that_was_removed_is_built_again(checkout: Checkout) -> None:
    checkout.build()
    checkout.calls()
    checkout.page.unlink()
    assert checkout.build().returncode == 0 and checkout.page.is_file()


def test_without_packages_it_says_that_the_interface_is_not_built(checkout: Checkout) -> None:
    done = checkout.build(fails="install")
    assert done.returncode == 1
    assert "the web interface is not built: npm could not install its packages (exit code 7)" in done.stderr
    assert [call.split()[1] for call in checkout.calls()] == ["install"]


def test_a_build_that_fails_has_the_exit_code_of_npm_and_is_not_taken_for_built(checkout: Checkout) -> None:
    assert checkout.build(fails="run").returncode == 7
    checkout.calls()
    assert checkout.build().returncode == 0 and checkout.calls() == ["npm run --silent build"]


# -- the hook of the wheel -----------------------------------------------------------------------------------------
class Display:
    """Takes the warnings that hatchling would print."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def display_warning(self, text: str) -> None:
        self.warnings.append(text)


@pytest.fixture
def hook(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The hook on that tree. Hatchling is in the environment of a build only: a class stands for its own."""

    class BuildHookInterface:
        def __class_getitem__(cls, item: object) -> type:
            return cls

    name = "hatchling.builders.hooks.plugin.interface"
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        monkeypatch.setitem(sys.modules, ".".join(parts[:count]), ModuleType(".".join(parts[:count])))
    sys.modules[name].BuildHookInterface = BuildHookInterface  # type: ignore[attr-defined]
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = module.InterfaceBuildHook()
    made.root, made.app = str(checkout.root), Display()
    monkeypatch.setenv("PATH", f"{checkout._programs}:/usr/bin:/bin")
    monkeypatch.setenv("CALLS", str(checkout._calls))
    monkeypatch.delenv("TURNOUT_BUILD_UI", raising=False)
    return made


def test_a_wheel_has_the_interface_and_an_editable_install_does_not_build_it(hook: Any, checkout: Checkout) -> None:
    hook.initialize("editable", {})
    assert checkout.calls() == []
    hook.initialize("standard", {})
    assert checkout.page.is_file() and hook.app.warnings == []


def test_a_wheel_that_cannot_have_it_says_so_or_is_refused(
    hook: Any, checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAILS", "install")
    hook.initialize("standard", {})
    assert hook.app.warnings == ["the wheel is built without the web interface: its server has the API alone"]
    monkeypatch.setenv("TURNOUT_BUILD_UI", "require")
    with pytest.raises(RuntimeError, match="TURNOUT_BUILD_UI=require asks for it"):
        hook.initialize("standard", {})
    monkeypatch.setenv("TURNOUT_BUILD_UI", "skip")
    checkout.calls()
    hook.initialize("standard", {})
    assert checkout.calls() == []
    monkeypatch.setenv("TURNOUT_BUILD_UI", "yes")
    with pytest.raises(ValueError, match="TURNOUT_BUILD_UI is 'yes': write one of try, require, skip"):
        hook.initialize("standard", {})


# -- what is committed ---------------------------------------------------------------------------------------------
def test_a_source_distribution_can_build_the_interface() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]
    assert {"src", "ui", "tools/ui.py", "hatch_build.py"} <= set(project["sdist"]["include"])
    assert project["wheel"]["artifacts"] == ["src/turnout/server/static/ui/**"]


def test_the_lock_file_has_versions_and_digests_and_no_addresses() -> None:
    text = (ROOT / "ui" / "package-lock.json").read_text()
    packages = {name: each for name, each in json.loads(text)["packages"].items() if name}
    assert len(packages) > 100 and all(each["version"] for each in packages.values())
    assert not any("resolved" in each for each in packages.values())
    hosts = set(re.findall(r"https?://([^/\"]+)", text))
    assert not {host for host in hosts if "registry" in host or "npm" in host}


def test_the_build_needs_no_package_of_the_tests() -> None:
    package = json.loads((ROOT / "ui" / "package.json").read_text())
    config = (ROOT / "ui" / "vite.config.ts").read_text()
    imported = {name for name in re.findall(r'from "([^"]+)"', config) if not name.startswith((".", "node:"))}
    assert imported <= set(package["dependencies"])
