"""What is refused as JSON says where in the value it stands."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from turnout import Runner, task, workflow
from turnout.errors import NotJson, RunFailed
from turnout.model.types import to_json_value
from turnout.model.values import dump_output


@dataclass
class Row:
    when: Any


class Page(msgspec.Struct):
    rows: list[Any]


@pytest.mark.parametrize(
    ("value", "path", "code"),
    [
        ({"rows": [1, {"when": threading.Lock()}]}, "['rows'][1]['when']", "not_json"),
        ({"a": 1, "rows": [1.0, math.nan]}, "['rows'][1]", "not_json"),
        ({"names": {"x": "ok", "y": "a\0b"}}, "['names']['y']", "json_nul"),
        (["ä", "\ud800"], "[1]", "json_surrogate"),
        ({"by id": {5: "five"}}, "['by id']", "not_json"),
        ({"by price": [{2.5: 1}]}, "['by price'][0]", "not_json"),
        ({"keys": {"a\0": 1}}, "['keys']", "json_nul"),
        ([Row(1), Row({"in": object()})], "[1].when['in']", "not_json"),
        (Page([0, (1, threading.Lock())]), ".rows[1][1]", "not_json"),
        (math.inf, "", "not_json"),
    ],
)
def test_the_path_to_what_is_no_json_is_named(value: Any, path: str, code: str) -> None:
    with pytest.raises(NotJson) as caught:
        dump_output(value, what="output")
    assert caught.value.message.startswith(f"output{path} h"), caught.value.message
    assert (caught.value.code, caught.value.fields["path"]) == (code, path)


def test_values_on_their_way_in_name_the_path_too() -> None:
    with pytest.raises(NotJson, match=r"^the default of 'x'\['a'\]\[0\] holds a value of type object"):
        to_json_value({"a": [object()]}, "the default of 'x'")


def test_what_is_too_deep_has_no_path() -> None:
    value: Any = []
    for _ in range(200):
        value = [value]
    with pytest.raises(NotJson, match=r"^output is nested deeper than 100 levels"):
        dump_output(value)


def test_a_task_that_returns_something_else_says_which_key_it_was() -> None:
    @task
    def load() -> Any:
        return {"rows": [{"id": 1, "lock": threading.Lock()}]}

    @workflow
    def loading() -> Any:
        return load()

    with Runner("sqlite:///:memory:", workflows=[loading], config=False, handle_sigterm=False) as runner:
        with pytest.raises(RunFailed, match=r"output\['rows'\]\[0\]\['lock'\] holds a value of type lock"):
            runner.run(loading)
