"""What is published in each language says the same of itself: its origin, its licence and its version."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SDKS = [ROOT / "sdk" / language for language in ("ruby", "go", "node")]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
HOMEPAGE: str = PROJECT["urls"]["Homepage"]
GEM = (ROOT / "sdk/ruby/turnout-worker.gemspec").read_text()
NODE = json.loads((ROOT / "sdk/node/package.json").read_text())


@pytest.mark.parametrize("sdk", SDKS, ids=lambda each: each.name)
def test_every_package_has_the_licence_with_it(sdk: Path) -> None:
    assert (sdk / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_every_package_names_the_same_homepage_and_licence() -> None:
    assert re.search(r'spec.homepage = "(.*)"', GEM)[1] == NODE["homepage"] == HOMEPAGE  # type: ignore[index]
    assert re.search(r'spec.license = "(.*)"', GEM)[1] == NODE["license"] == PROJECT["license"]  # type: ignore[index]
    assert NODE["repository"] == {"type": "git", "url": f"git+{HOMEPAGE}.git", "directory": "sdk/node"}
    assert "LICENSE" in NODE["files"] and '"LICENSE"' in GEM


def test_the_path_of_the_go_module_is_where_its_source_is() -> None:
    """The first part of a path that can be fetched is the name of a host."""
    module = (ROOT / "sdk/go/go.mod").read_text().split()[1]
    assert module == f"{HOMEPAGE.removeprefix('https://')}/sdk/go" and "." in module.partition("/")[0]


def test_every_package_has_the_same_version() -> None:
    ruby = re.search(r'VERSION = "(.*)"', (ROOT / "sdk/ruby/lib/turnout/version.rb").read_text())
    go = re.search(r'sdkVersion += "(.*)"', (ROOT / "sdk/go/options.go").read_text())
    assert ruby and go and ruby[1] == go[1] == NODE["version"] == PROJECT["version"]
