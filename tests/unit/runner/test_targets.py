"""Which workflow does a target name, and what is said when it names none?"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from turnout.errors import DefinitionError, InvalidTarget
from turnout.runner.targets import load_workflow, load_workflows

TWO = """
from turnout import task, workflow

@task
def say(text: str) -> str:
    return text

@workflow
def hello(text: str) -> str:
    return say(text)

@workflow(name="good-bye")
def goodbye(text: str) -> str:
    return say(text)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working directory of its own, and no trace of what was imported from it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def test_a_workflow_is_named_by_file_by_module_and_by_its_own_name(folder: Path) -> None:
    (folder / "two_flows.py").write_text(TWO)
    by_file = load_workflow("two_flows.py:hello")
    assert by_file.name == "hello"
    assert load_workflow("two_flows:hello") is by_file
    assert load_workflow("two_flows:good-bye") is load_workflow("two_flows:goodbye")
    assert by_file.source.ref == "two_flows:hello", "other processes import it by this name"


def test_the_only_workflow_need_not_be_named(folder: Path) -> None:
    (folder / "one_flow.py").write_text(TWO.partition("@workflow(")[0])
    assert load_workflow("one_flow.py").name == "hello"


def test_workflows_that_a_module_imports_count_only_if_it_has_none_itself(folder: Path) -> None:
    (folder / "inner_flows.py").write_text(TWO.partition("@workflow(")[0])
    (folder / "outer_flows.py").write_text("from inner_flows import hello\n")
    (folder / "mixed_flows.py").write_text(
        "from inner_flows import hello, say\nfrom turnout import workflow\n@workflow\ndef own(x): return say(x)\n"
    )
    assert load_workflow("outer_flows").name == "hello"
    assert [each.name for each in load_workflows("mixed_flows")] == ["own"]


def test_a_file_in_a_package_keeps_its_place_in_it(folder: Path) -> None:
    package = folder / "shop_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "words.py").write_text("HELLO = 'hello'\n")
    (package / "orders.py").write_text("from shop_package.words import HELLO\n" + TWO.partition("@workflow(")[0])
    assert load_workflow("shop_package/orders.py").source.ref == "shop_package.orders:hello"


def test_a_file_that_is_called_like_a_module_of_python_does_not_take_its_place(folder: Path) -> None:
    (folder / "queue.py").write_text(TWO.partition("@workflow(")[0])
    import queue

    assert load_workflow("queue.py").name == "hello"
    assert sys.modules["queue"] is queue


@pytest.mark.parametrize(
    ("content", "target", "code", "said"),
    [
        (TWO, "case_flows.py", "several_workflows", "name one, as in case_flows.py:goodbye"),
        (TWO, "case_flows.py:helo", "no_such_workflow", "did you mean 'hello'?"),
        ("x = 1", "case_flows.py", "no_workflow", "decorate a function with @workflow"),
        ("x = 1", "case_flows", "no_workflow", "case_flows defines no workflow"),
        ("x = 1", "nowhere.py", "no_such_file", "there is no file 'nowhere.py'"),
        ("x = 1", "nowhere_at_all:x", "no_such_module", "there is no module 'nowhere_at_all'"),
        ("def (", "case_flows.py", "import_failed", "is not Python"),
        ("import nowhere_at_all", "case_flows", "import_failed", "No module named 'nowhere_at_all'"),
        ("1 / 0", "case_flows.py", "import_failed", "ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)", "case_flows.py", "import_failed", "SystemExit: 3"),
        ("x = 1", "case_flows.py:", "invalid_target", "write module:workflow or file.py:workflow"),
    ],
)
def test_a_wrong_target_is_explained(folder: Path, content: str, target: str, code: str, said: str) -> None:
    (folder / "case_flows.py").write_text(content)
    with pytest.raises(InvalidTarget) as raised:
        load_workflow(target)
    assert raised.value.code == code
    assert said in raised.value.message


def test_a_definition_that_explains_itself_is_not_wrapped(folder: Path) -> None:
    (folder / "bad_option.py").write_text("from turnout import workflow\n@workflow\nasync def f(): ...\n")
    with pytest.raises(DefinitionError) as raised:
        load_workflow("bad_option.py")
    assert raised.value.code == "async_workflow"
