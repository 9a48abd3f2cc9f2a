"""Judges the executions of a step: conditions, repetitions, tolerated failures, and the value of its result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from turnout.errors import CommandFailed, InvalidInput, WrongType
from turnout.model.annotations import ConversionError
from turnout.model.interpolation import Reference, as_text, filled, items_in, looked_up
from turnout.model.patterns import PatternError, pattern_of
from turnout.model.retry import RetryPolicy, backoff_delay
from turnout.model.selection import selected
from turnout.model.shell import Captured
from turnout.model.step import ITEM_NAME, Check, Evaluation, Output, Repeat, Tolerance
from turnout.model.step_values import value_of
from turnout.model.text_values import read_value, shown_value

PATTERN = "re:"
MAX_SHOWN_CONDITION = 200


def matches(expected: str, text: str) -> bool:
    """True if the text is the expected one, or a part of it matches the pattern after ``re:``."""
    if expected.startswith(PATTERN):
        return _has_match(expected, text)
    return text.strip() == expected.strip()


def contains(pattern: str, text: str) -> bool:
    """True if the text contains this one, or a match of the pattern after ``re:``."""
    if pattern.startswith(PATTERN):
        return _has_match(pattern, text, multiline=True)
    return pattern in text


def _has_match(pattern: str, text: str, *, multiline: bool = False) -> bool:
    try:
        return pattern_of(pattern.removeprefix(PATTERN), multiline=multiline).search(text)
    except PatternError as error:
        raise InvalidInput(f"{pattern[:60]!r} is {error}", code="bad_pattern") from None


def holds(check: Check, *, code: int | None = None, text: str = "") -> bool:
    """True if the condition holds, by the exit code of its command or by its text."""
    if check.expected is not None:
        met = matches(check.expected, text)
    else:
        met = code == 0 if check.command is not None else text.strip().lower() in ("true", "1", "yes")
    return met is not check.negate


def unmet_reason(check: Check) -> str:
    """Returns what was found instead of the condition, as it is shown in the reason of a skipped step."""
    shown = " ".join(check.shown.split())[:MAX_SHOWN_CONDITION]
    if check.expected is None:
        return f"{shown} {'succeeded' if check.negate else 'failed'}"
    return f"{shown} is {'' if check.negate else 'not '}{check.expected}"


def repeats(repeat: Repeat, code: int, met: bool | None, executions: int) -> bool:
    """True if the step is to be executed again. ``met`` is the result of the check, None if there is none."""
    if repeat.limit is not None and executions >= repeat.limit:
        return False
    if met is None:
        met = code in (repeat.exit_codes or (0,))
    return not met if repeat.until else met


def repeat_delay(repeat: Repeat, executions: int) -> float:
    """Returns the seconds before the next execution."""
    policy = RetryPolicy(
        backoff="exponential", delay=repeat.interval, factor=repeat.factor, max_delay=repeat.max_interval
    )
    return backoff_delay(policy, executions, 0.0)


def tolerates(tolerance: Tolerance, code: int, output: str) -> bool:
    """True if the dependents of the step run although it failed so."""
    return (
        tolerance.failure
        or code in tolerance.exit_codes
        or any(contains(pattern, output) for pattern in tolerance.output)
    )


def output_value(output: Output, stdout: Captured) -> Any:
    """Returns the value that the output variable gets."""
    if stdout.lost:
        raise CommandFailed(
            f"its output is {stdout.lost + len(stdout.data):,} bytes, too many for a variable: write it to a file",
            code="output_too_large",
        )
    text = stdout.text.strip()
    if output.select is None:
        return text
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise CommandFailed(f"its output is not JSON ({error}): {text[:200]!r}", code="bad_output") from None
    return selected(output.select, value)


# -- arguments of other tasks ----------------------------------------------------------------------------------------
def evaluated(evaluation: Evaluation, values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the arguments of the task that follows: of a mapped one, a list for each. Raises WrongType for one that
    does not fit."""
    if not evaluation.mapped:
        return {name: _argument(evaluation, name, values) for name in evaluation.arguments}
    items = _items(evaluation, values)
    if not evaluation.arguments:
        return {"items": items}
    scopes = [{**values, ITEM_NAME: each} for each in items]
    return {name: [_argument(evaluation, name, scope) for scope in scopes] for name in evaluation.arguments}


def _argument(evaluation: Evaluation, name: str, values: Mapping[str, Any]) -> Any:
    value = value_of(evaluation.arguments[name], values)
    schema = evaluation.types.get(name)
    if schema is None:
        return value
    try:
        return read_value(value, schema)
    except ConversionError as error:
        raise WrongType(
            f"argument {name!r} of step {evaluation.step!r} is {shown_value(value)}: it must be {error}",
            task=evaluation.step,
            parameter=name,
            type=type(value).__name__,
        ) from error


def _items(evaluation: Evaluation, values: Mapping[str, Any]) -> list[Any]:
    if evaluation.variable is None:
        return [value_of(each, values) for each in evaluation.items or ()]
    whole = evaluation.variable
    source = looked_up(whole[0], values) if len(whole) == 1 and isinstance(whole[0], Reference) else None
    found = items_in(filled(whole, values) if source is None else source)
    if found is None:
        raise InvalidInput(f"the items are {as_text(source)[:100]!r}, which is no list", code="not_a_list")
    return found
