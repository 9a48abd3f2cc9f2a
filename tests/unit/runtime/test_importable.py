"""Which functions another process can find by name, and what is said of those that it cannot."""

from __future__ import annotations

import functools
import sys
from types import ModuleType

import pytest

from tests import process_bodies as bodies
from turnout.errors import NotImportable
from turnout.runtime.importable import found, locate, main_of, unlocatable
from turnout.runtime.messages import Setting, Where

SETTING = Setting(path=[], argv=[], cwd="/", output_limit=1)


def test_a_function_of_a_module_is_found_again() -> None:
    where = locate(bodies.add)
    assert (where.module, where.qualname) == ("tests.process_bodies", "add")
    assert found(where, SETTING) is bodies.add


def test_the_function_of_a_task_is_found_through_the_task() -> None:
    where = locate(bodies.judged_by_a_lambda.function)
    assert found(where, SETTING) is bodies.judged_by_a_lambda


@pytest.mark.parametrize("body", [bodies.made_here(), bodies.hidden, functools.partial(bodies.add, 1)])
def test_what_cannot_be_found_by_its_name_is_refused(body: object) -> None:
    with pytest.raises(NotImportable) as caught:
        locate(body)  # type: ignore
    assert caught.value.code == "not_importable"


def test_a_name_that_is_not_there_is_refused() -> None:
    with pytest.raises(NotImportable, match="has no gone"):
        found(Where("tests.process_bodies", "gone"), SETTING)


def test_an_interactive_session_cannot_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))
    assert "notebook or an interactive session" in (unlocatable("__main__", "f") or "")
    assert unlocatable("somewhere", "f") is None


def test_a_main_module_is_run_again_by_its_name_or_by_its_file() -> None:
    main = ModuleType("__main__")
    assert main_of(main) == (None, None)
    main.__file__ = "/tmp/script.py"
    assert main_of(main) == (None, "/tmp/script.py")
    main.__spec__ = bodies.__spec__
    assert main_of(main) == ("tests.process_bodies", None)
