"""The page that follows one run through the source names every module that a profile of such a run calls."""

from __future__ import annotations

import re
from fnmatch import fnmatch
from pathlib import Path

from acceptance.command import ROOT

from tools.structure import path_of_one_run

PAGE = (ROOT / "docs/explanation/life-of-a-run.md").read_text()
PATH, LEFT_OUT = PAGE.split("## What the path leaves out")
MODULE = re.compile(r"`([a-z_/]+(?:\.py|/\*))`")
MAX_MODULES = 30


def followed() -> list[str]:
    """The modules that open a row of a table: those that a reader opens."""
    return re.findall(r"^\| `([a-z_/]+\.py)` \|", PATH, re.MULTILINE)


def left_out() -> list[str]:
    return MODULE.findall(LEFT_OUT)


def test_a_reader_opens_at_most_thirty_modules_to_follow_a_run() -> None:
    assert len(followed()) == len(set(followed())) <= MAX_MODULES


def test_every_module_that_the_page_names_exists() -> None:
    source = ROOT / "src/turnout"
    named = [*MODULE.findall(PATH), *left_out()]
    assert [name for name in named if not list(source.glob(name))] == []


def test_every_module_that_one_run_calls_is_followed_or_left_out_with_a_reason() -> None:
    called = {str(Path(path).relative_to("turnout")) for path, _ in path_of_one_run(ROOT)}
    unnamed = {
        name for name in called if name not in followed() and not any(fnmatch(name, each) for each in left_out())
    }
    assert unnamed == set()
    # Decided once for each task and remembered, before the profile begins.
    assert set(followed()) - called <= {"dispatcher/placement.py"}


def test_no_module_is_both_followed_and_left_out() -> None:
    assert set(followed()) & set(left_out()) == set()
