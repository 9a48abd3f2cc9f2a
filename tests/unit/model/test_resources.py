"""What a task may ask of its executor, how it is written, and how a rule replaces it."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout.errors import InvalidRouting, InvalidWorkflow
from turnout.model.resources import (
    Resources,
    decode_resources,
    lacking,
    merged,
    origin,
    parse_resources,
    shown_size,
)
from turnout.model.spec import Body, TaskSpec, WorkflowSpec, decode_spec

WHAT = "resources of task 'fit'"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ({"cpu": 4}, Resources(cpu=4)),
        ({"gpu": 0.5}, Resources(gpu=0.5)),
        ({"gpu": "2"}, Resources(gpu=2)),
        ({"cpu": 0}, Resources(cpu=0)),
        ({"memory": 1024}, Resources(memory=1024)),
        ({"memory": "1024"}, Resources(memory=1024)),
        ({"memory": "8GiB"}, Resources(memory=8 * 2**30)),
        ({"memory": "8 gib"}, Resources(memory=8 * 2**30)),
        ({"memory": "1.5GiB"}, Resources(memory=1536 * 2**20)),
        ({"memory": "512MB"}, Resources(memory=512 * 10**6)),
        ({"memory": "2TiB"}, Resources(memory=2 * 2**40)),
        ({"license": 1, "tpu-v5.lite": 8}, Resources(custom={"license": 1, "tpu-v5.lite": 8})),
        ({}, None),
        ({"gpu": None}, None),
        (None, None),
        (Resources(gpu=1), Resources(gpu=1)),
    ],
)
def test_resources_are_read_as_authors_write_them(written: Any, meant: Resources | None) -> None:
    assert parse_resources(written, WHAT) == meant


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"gpu": -1}, "resources of task 'fit': gpu is -1: write a number from 0, such as 1 or 0.5"),
        ({"cpu": math.nan}, "resources of task 'fit': cpu is nan: write a number from 0, such as 1 or 0.5"),
        ({"cpu": math.inf}, "resources of task 'fit': cpu is inf: write a number from 0, such as 1 or 0.5"),
        ({"cpu": True}, "resources of task 'fit': cpu is True: write a number from 0, such as 1 or 0.5"),
        ({"cpu": "4 cores"}, "resources of task 'fit': cpu is '4 cores': write a number from 0, such as 1 or 0.5"),
        ({"license": "x"}, "resources of task 'fit': license is 'x': write a number from 0, such as 1 or 0.5"),
        (
            {"memory": "8XB"},
            "resources of task 'fit': memory is '8XB': "
            'write a number of bytes above 0, or text such as "8GiB" or "512MB"',
        ),
        (
            {"memory": 0},
            "resources of task 'fit': memory is 0: "
            'write a number of bytes above 0, or text such as "8GiB" or "512MB"',
        ),
        (
            {"memory": "-1GiB"},
            "resources of task 'fit': memory is '-1GiB': "
            'write a number of bytes above 0, or text such as "8GiB" or "512MB"',
        ),
        (
            {"two words": 1},
            "resources of task 'fit' has the name 'two words': "
            "write a letter or _, then letters, digits, _, - or ., at most 128 characters",
        ),
        (
            ["gpu"],
            "resources of task 'fit' is ['gpu']: "
            'write a table of amounts, such as {"gpu": 1, "cpu": 4, "memory": "8GiB"}',
        ),
        ({f"r{n}": 1 for n in range(33)}, "resources of task 'fit' has 33 names: write at most 32"),
    ],
)
def test_a_wrong_amount_names_its_field_its_value_and_what_would_be_right(written: Any, message: str) -> None:
    with pytest.raises(InvalidWorkflow) as caught:
        parse_resources(written, WHAT)
    assert (caught.value.code, caught.value.message) == ("bad_resources", message)


def test_a_rule_has_its_own_error() -> None:
    with pytest.raises(InvalidRouting) as caught:
        parse_resources({"gpu": -1}, "resources of rule 1", error=InvalidRouting)
    assert caught.value.code == "bad_resources" and caught.value.fields["resource"] == "gpu"


def test_the_text_and_the_document_are_as_short_as_they_can_be() -> None:
    asked = Resources(cpu=4.0, gpu=0.5, memory=8 * 2**30, custom={"license": 1.0})
    assert asked.text() == "cpu=4 gpu=0.5 memory=8GiB license=1"
    assert asked.document() == {"cpu": 4, "gpu": 0.5, "memory": "8GiB", "license": 1}
    assert msgspec.json.encode(asked) == b'{"cpu":4.0,"gpu":0.5,"memory":8589934592,"custom":{"license":1.0}}'


amounts = st.floats(0, 1e12, allow_nan=False)
requests = st.builds(
    Resources,
    cpu=st.none() | amounts,
    gpu=st.none() | amounts,
    memory=st.none() | st.integers(1, 2**60),
    custom=st.dictionaries(st.sampled_from(["license", "tpu"]), amounts),
)


@given(requests)
def test_a_request_survives_its_document_and_its_json_text(asked: Resources) -> None:
    assert parse_resources(asked.document(), WHAT) == (asked if asked.amounts() else None)
    assert decode_resources(msgspec.json.encode(asked).decode()) == asked


@given(requests, requests)
def test_the_entries_of_a_rule_replace_those_of_the_task_by_name(task: Resources, rule: Resources) -> None:
    both = merged(task, rule)
    assert both is not None and both.amounts() == task.amounts() | rule.amounts()
    assert merged(task, None) is task and merged(None, rule) is rule and merged(None, None) is None
    named = origin(task, rule, "rule 1")
    for name in both.amounts():
        assert f"{name}={both.shown(name)}" in named


@given(requests, st.dictionaries(st.sampled_from(["cpu", "gpu", "memory", "license"]), amounts))
def test_a_request_fits_if_no_amount_is_above_what_is_there(asked: Resources, there: dict[str, float]) -> None:
    fits = all(amount <= there.get(name, 0) for name, amount in asked.amounts().items())
    assert (lacking(asked, there, "the largest node") is None) == fits


def test_a_misfit_names_only_what_is_missing_and_the_nearest() -> None:
    there: dict[str, float] = {"cpu": 8, "gpu": 2, "memory": 16 * 2**30}
    assert lacking(Resources(cpu=8, gpu=2, memory=16 * 2**30), there, "node a") is None
    asked = Resources(cpu=4, gpu=4, memory=32 * 2**30, custom={"tpu": 1})
    assert lacking(asked, there, "node a") == "asks for gpu=4 memory=32GiB tpu=1; node a has gpu=2 memory=16GiB tpu=0"


@given(st.integers(1, 2**60))
def test_a_size_is_shown_exactly(number: int) -> None:
    read = parse_resources({"memory": shown_size(number)}, WHAT)
    assert read is not None and read.memory == number


def test_a_workflow_without_resources_keeps_its_stored_form_and_one_with_them_gets_another_version() -> None:
    plain = WorkflowSpec("flow", (TaskSpec("a", Body("python", "m:f")),))
    assert b"resources" not in msgspec.json.encode(plain)
    assert plain.version() == "90c4e35047c050a7ef427c2b82b0c9de"
    asking = msgspec.structs.replace(
        plain, tasks=(msgspec.structs.replace(plain.tasks[0], resources=Resources(gpu=1)),)
    )
    assert asking.version() != plain.version()
    assert decode_spec(msgspec.json.encode(asking)) == asking
