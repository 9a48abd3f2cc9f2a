"""Conditions, retries, repetitions and the ends after which others continue, in every form."""

from __future__ import annotations

import pytest

from tests.kit.workflow_text import error_of, keys_of, step_of
from turnout.authoring.yaml.conditions import Condition, ContinueOn
from turnout.authoring.yaml.policies import RepeatPolicy, RetryPolicy, RunRetryPolicy


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("preconditions: test -f x", (Condition(condition="test -f x"),)),
        ("precondition: test -f x", (Condition(condition="test -f x"),)),
        ("preconditions: [test -f x, test -f y]", (Condition(condition="test -f x"), Condition(condition="test -f y"))),
        ("preconditions: {condition: '$A', expected: b}", (Condition(condition="$A", expected="b"),)),
        (
            "preconditions: [{condition: '`date +%d`', expected: 're:0[1-9]', negate: true}]",
            (Condition(condition="`date +%d`", expected="re:0[1-9]", negate=True),),
        ),
        (
            "preconditions: [{condition: '$N', expected: 5}, ls]",
            (Condition(condition="$N", expected="5"), Condition(condition="ls")),
        ),
        ("preconditions: []", ()),
    ],
)
def test_preconditions_have_many_forms(text: str, expected: tuple[Condition, ...]) -> None:
    assert step_of(text).preconditions == expected
    assert keys_of(text).preconditions == expected


@pytest.mark.parametrize(
    ("text", "code", "word"),
    [
        ("preconditions: [{expected: b}]", "missing_key", "`condition`"),
        ("preconditions: {condition: a, expected: 're:['}", "bad_pattern", "no regular expression"),
        ("preconditions: {condition: a, negate: no}", "bad_value", "true or false"),
        ("preconditions: {condition: a, expect: b}", "unknown_key", "'expected'"),
        ("preconditions: 5", "bad_value", "a command"),
        ("preconditions: ['']", "bad_value", "a command"),
    ],
)
def test_a_wrong_condition_is_reported(text: str, code: str, word: str) -> None:
    error = error_of(f"{text}\nsteps: [make]\n")
    assert error.code == code and word in error.message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("continue_on: failed", ContinueOn(failure=True)),
        ("continueOn: failure", ContinueOn(failure=True)),
        ("continue_on: skipped", ContinueOn(skipped=True)),
        ("continue_on: {failure: true, skipped: true}", ContinueOn(failure=True, skipped=True)),
        ("continue_on: {exit_code: 3}", ContinueOn(exit_code=(3,))),
        ("continueOn: {exitCode: [1, '2'], markSuccess: true}", ContinueOn(exit_code=(1, 2), mark_success=True)),
        ("continue_on: {output: done}", ContinueOn(output=("done",))),
        ("continue_on: {output: [done, 're:^no']}", ContinueOn(output=("done", "re:^no"))),
    ],
)
def test_continue_on_has_many_forms(text: str, expected: ContinueOn) -> None:
    assert step_of(text).continue_on == expected


@pytest.mark.parametrize(
    "text", ["always", "{exit_code: 256}", "{exit_code: [a]}", "{output: 're:('}", "{failed: 1}", "[failed]"]
)
def test_a_wrong_continue_on_is_reported(text: str) -> None:
    assert error_of(f"steps:\n  - command: make\n    continue_on: {text}\n").line == 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("retry_policy: {limit: 3}", RetryPolicy(limit=3)),
        ("retryPolicy: {limit: '3', intervalSec: 5}", RetryPolicy(limit=3, interval_sec=5)),
        ("retry_policy: {limit: 1, backoff: true}", RetryPolicy(limit=1, backoff=2.0)),
        ("retry_policy: {limit: 1, backoff: false}", RetryPolicy(limit=1)),
        (
            "retry_policy: {limit: 1, backoff: 1.5, maxIntervalSec: 60}",
            RetryPolicy(limit=1, backoff=1.5, max_interval_sec=60),
        ),
        ("retry_policy: {limit: 1, exit_code: [75, 1]}", RetryPolicy(limit=1, exit_code=(75, 1))),
        ("retry_policy: {limit: 1, exitCode: 75}", RetryPolicy(limit=1, exit_code=(75,))),
    ],
)
def test_retry_policies_of_steps(text: str, expected: RetryPolicy) -> None:
    assert step_of(text).retry_policy == expected


def test_retry_policies_of_workflows() -> None:
    document = keys_of("retry_policy: {limit: 2, interval_sec: 60, backoff: true, max_interval_sec: 600}")
    assert document.retry_policy == RunRetryPolicy(limit=2, interval_sec=60, backoff=2.0, max_interval_sec=600)
    assert error_of("retry_policy: {limit: 2, exit_code: 1}\nsteps: [make]").code == "unknown_key"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{interval_sec: 5}", "missing_key"),
        ("{limit: -1}", "bad_value"),
        ("{limit: 1001}", "bad_value"),
        ("{limit: 1.5}", "bad_value"),
        ("{limit: 1, backoff: 0.5}", "bad_value"),
        ("{limit: 1, interval_sec: -5}", "bad_value"),
        ("{limit: 1, interval_sec: .inf}", "bad_value"),
        ("{limit: true}", "bad_value"),
        ("3", "bad_value"),
    ],
)
def test_a_wrong_retry_policy_is_reported(text: str, code: str) -> None:
    error = error_of(f"steps:\n  - command: make\n    retry_policy: {text}\n")
    assert (error.code, error.line) == (code, 3)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "{repeat: while, condition: test -f x, interval_sec: 5}",
            RepeatPolicy(repeat="while", condition="test -f x", interval_sec=5),
        ),
        (
            "{repeat: until, condition: '$A', expected: b, limit: 9}",
            RepeatPolicy(repeat="until", condition="$A", expected="b", limit=9),
        ),
        ("{repeat: true, limit: 3}", RepeatPolicy(repeat="while", limit=3)),
        ("{repeat: false, limit: 3}", None),
        ("{condition: '$A', expected: b}", RepeatPolicy(repeat="until", condition="$A", expected="b")),
        ("{condition: test -f x}", RepeatPolicy(repeat="while", condition="test -f x")),
        ("{exit_code: [1, 2]}", RepeatPolicy(repeat="while", exit_code=(1, 2))),
        (
            "{repeat: until, exitCode: 0, backoff: 2, maxIntervalSec: 9}",
            RepeatPolicy(repeat="until", exit_code=(0,), backoff=2, max_interval_sec=9),
        ),
    ],
)
def test_repeat_policies(text: str, expected: RepeatPolicy | None) -> None:
    assert step_of(f"repeat_policy: {text}").repeat_policy == expected


@pytest.mark.parametrize(
    "text",
    ["{}", "{limit: 3}", "{repeat: until}", "{repeat: sometimes}", "{repeat: true, limit: 0}", "{condition: ''}", "5"],
)
def test_a_wrong_repeat_policy_is_reported(text: str) -> None:
    assert error_of(f"steps:\n  - command: make\n    repeat_policy: {text}\n").line == 3
