"""Which texts may come in, and what is said of those that may not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout.dispatcher import RoutingRule
from turnout.errors import InvalidInput, InvalidRouting, InvalidSetting, InvalidWorkflow, TurnoutError
from turnout.model.info import TaskInfo
from turnout.model.spec import Body, TaskSpec
from turnout.model.texts import checked_text
from turnout.model.validation import validate_task
from turnout.runner.config_schema import checked
from turnout.worker.settings import WorkerSettings

LONE, NUL = "\ud800", "a\0b"


@given(st.text(), st.integers(min_value=0, max_value=20))
def test_a_text_is_taken_as_it_is_or_refused_by_its_code(text: str, longest: int) -> None:
    try:
        assert checked_text(text, "reason", longest=longest) == text
        assert "\0" not in text and len(text.encode()) <= longest
    except InvalidInput as error:
        assert error.code in ("text_nul", "text_too_long")
        error.message.encode()


@pytest.mark.parametrize(
    ("value", "code"), [(7, "not_text"), (None, "not_text"), (LONE, "text_surrogate"), (NUL, "text_nul")]
)
def test_the_message_names_the_field_and_can_be_printed_everywhere(value: object, code: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        checked_text(value, "key")
    assert caught.value.code == code
    assert caught.value.message.startswith("key is ")
    assert caught.value.message.isascii()


@pytest.mark.parametrize("bad", [LONE, NUL])
def test_labels_rules_settings_and_variables_are_looked_at(bad: str) -> None:
    task = TaskSpec("ship", Body("python", "tests:ship"), worker_selector={"zone": bad})
    for error, call in (
        (InvalidWorkflow, lambda: validate_task(task)),
        (InvalidRouting, lambda: RoutingRule("**", "workers", labels={bad: "true"})),
        (InvalidSetting, lambda: WorkerSettings(connect=("tcp://127.0.0.1:1",), labels={"zone": bad}).check()),
        (InvalidSetting, lambda: WorkerSettings(connect=("tcp://127.0.0.1:1",), name=bad).check()),
        (InvalidSetting, lambda: checked(("tenant",), bad, "TURNOUT_TENANT")),
        (InvalidSetting, lambda: checked(("polling",), ["good", bad], "turnout.toml")),
        (InvalidSetting, lambda: checked(("worker", "labels"), {"zone": bad}, "turnout.toml")),
    ):
        with pytest.raises(TurnoutError) as caught:
            call()
        assert type(caught.value) is error
        assert caught.value.code in ("text_surrogate", "text_nul")


def test_progress_takes_any_message() -> None:
    said: list[str] = []
    info = TaskInfo(run_id="r", task_id="r.0", task_name="t", attempt=1, max_attempts=1)

    class Ear:
        echo = False

        def __call__(self, source: object, stream: str, text: str) -> None:
            said.append(text)

    info.output = Ear()
    info.progress(1, 2, f"one {LONE} of two {NUL}")
    assert "of two" in said[0]
    said[0].encode()
