"""Holds limits as workflows and tasks declare them, and resolves them for one run: the name, and how many."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

import msgspec

from turnout.errors import InvalidInput, InvalidLimit, InvalidWorkflow, TurnoutError
from turnout.model.interpolation import Reference, as_text, looked_up
from turnout.model.names import suggest
from turnout.model.texts import checked_text

MAX_LIMIT_NAME = 400
"""Characters of a limit's name, once its parameters are filled in."""
MAX_SLOTS = 1_000_000
MAX_LIMITS = 16
"""Limits of one workflow or task."""
MAX_RATE_PERIOD = 366 * 86_400.0
DEFAULT_PERIOD = 1.0
BAD_LIMIT = "bad_limit"
QUEUE, WORKFLOW = "queue:", "workflow:"
"""What the names of limits begin with that ``queue`` and ``max_active_runs`` of a workflow declare."""

_PARAMETER = re.compile(r"\$\{(?:params\.)?([A-Za-z_]\w*)((?:\.\w+|\[\d+\])*)\}")
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")


class LimitSize(msgspec.Struct, frozen=True, omit_defaults=True):
    """The greatest number that hold a slot at once, and that begin within a period. None: any number."""

    at_most: int | None = None
    rate: int | None = None
    per: float = DEFAULT_PERIOD
    """Seconds of the period of ``rate``."""

    @property
    def given(self) -> bool:
        return self.at_most is not None or self.rate is not None


class LimitSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """A limit as a workflow or task declares it."""

    name: str
    """With ``${parameter}`` in it there is one limit for each value of the parameter."""
    at_most: int | None = None
    rate: int | None = None
    per: float = DEFAULT_PERIOD

    @property
    def size(self) -> LimitSize:
        return LimitSize(self.at_most, self.rate, self.per)


class LimitUse(msgspec.Struct, frozen=True):
    """A limit of one run or one of its tasks, with the parameters filled in."""

    name: str
    declared: str
    """The name as it is declared, which is the one in the configuration."""
    size: LimitSize


def check_size(what: str, size: LimitSize, error: type[TurnoutError] = InvalidWorkflow) -> None:
    """Raises an error if nothing could ever pass, or a number is out of range."""
    for field, value in (("at_most", size.at_most), ("rate", size.rate)):
        if value is not None and (not _is_int(value) or not 1 <= value <= MAX_SLOTS):
            right = f"a whole number from 1 to {MAX_SLOTS:,}"
            raise error(f"{field} of {what} is {value!r}: it must be {right}", code=BAD_LIMIT, field=field, value=value)
    if not 0 < size.per <= MAX_RATE_PERIOD:
        right = "a period above 0 s and at most a year"
        raise error(f"per of {what} is {size.per!r}: it must be {right}", code=BAD_LIMIT, field="per", value=size.per)


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def validate_limits(what: str, limits: Sequence[LimitSpec], params: Iterable[str]) -> None:
    """Raises InvalidWorkflow for a limit that cannot work: its size, its name, or a parameter that does not exist."""
    if len(limits) > MAX_LIMITS:
        _refuse(f"{what} has {len(limits)} limits: it may have {MAX_LIMITS}")
    known, seen = set(params), set[str]()
    for limit in limits:
        where = f"limit {limit.name!r} of {what}"
        _check_name(where, limit.name)
        check_size(where, limit.size)
        if limit.name in seen:
            _refuse(f"{what} has the limit {limit.name!r} twice", value=limit.name)
        seen.add(limit.name)
        for found in _PARAMETER.finditer(limit.name):
            if found[1] not in known:
                why = f"{where} takes the parameter {found[1]!r}, which the workflow does not have"
                _refuse(f"{why}{suggest(found[1], known)}", code="unknown_parameter", value=found[1])


def _check_name(where: str, name: Any) -> None:
    right = 'write a text such as "database" or "customer-${customer_id}"'
    if not isinstance(name, str) or not name.strip():
        _refuse(f"the name of {where} is {name!r}: {right}", value=name)
    checked_text(name, f"the name of {where}", longest=MAX_LIMIT_NAME, error=InvalidWorkflow)
    if "${" in _PARAMETER.sub("", name):
        _refuse(f"{where} has a ${{…}} that is not a parameter: {right}", value=name)
    if name.startswith((QUEUE, WORKFLOW)):
        _refuse(
            f"the name of {where} begins with {name.partition(':')[0]}:, as the limits do that queue and "
            f"max_active_runs stand for: {right}",
            value=name,
        )


def _refuse(message: str, *, code: str = "", **fields: Any) -> NoReturn:
    raise InvalidWorkflow(message, code=code or BAD_LIMIT, **fields)


def queue_limit(queue: str) -> LimitSpec:
    """Returns the limit that a queue is; its size is that of the configuration."""
    return LimitSpec(f"{QUEUE}{queue}")


def workflow_limit(full_name: str, max_active_runs: int) -> LimitSpec:
    """Returns the limit that ``max_active_runs`` of a workflow is."""
    return LimitSpec(f"{WORKFLOW}{full_name}", at_most=max_active_runs)


def check_known(limits: Sequence[LimitSpec], configured: Mapping[str, LimitSize], what: str) -> None:
    """Raises InvalidLimit for a limit that has a size neither here nor in the configuration."""
    for limit in limits:
        if not limit.size.given and limit.name not in configured:
            raise _unknown(limit.name, configured, what)


def resolved(limits: Sequence[LimitSpec], input: Mapping[str, Any], what: str) -> tuple[LimitUse, ...]:
    """Returns the limits with the parameters of a run filled in. Raises InvalidLimit for a parameter without a value to
    make a name of.

    >>> [use.name for use in resolved([LimitSpec("customer-${id}", 3)], {"id": 17}, "workflow 'import'")]
    ['customer-17']
    """
    uses: dict[str, LimitUse] = {}
    for limit in limits:
        name = _PARAMETER.sub(lambda found, limit=limit: _value(found, input, limit.name, what), limit.name)
        checked_text(name, f"the limit {limit.name!r} of {what}", longest=MAX_LIMIT_NAME, error=InvalidLimit)
        uses[name] = LimitUse(name, limit.name, limit.size)
    return tuple(uses.values())


def _unknown(name: str, configured: Mapping[str, LimitSize], what: str) -> InvalidLimit:
    if name.startswith(QUEUE):
        queue = name.removeprefix(QUEUE)
        known = [each.removeprefix(QUEUE) for each in configured if each.startswith(QUEUE)]
        return InvalidLimit(
            f"{what} uses the queue {queue!r}, which is not configured{suggest(queue, known)}: add "
            f"[queues.{queue}] with max_active_runs to the configuration",
            code="unknown_queue",
            queue=queue,
        )
    known = [each for each in configured if not each.startswith(QUEUE)]
    return InvalidLimit(
        f"{what} uses the limit {name!r}, which has no size{suggest(name, known)}: declare at_most or rate, or add it "
        "to [limits] of the configuration",
        code="unknown_limit",
        limit=name,
    )


def _value(found: re.Match[str], input: Mapping[str, Any], name: str, what: str) -> str:
    path = tuple(int(step[2]) if step[2] else step[1] for step in _STEP.finditer(found[2]))
    reference = Reference(found[1], path)
    try:
        value = looked_up(reference, input)
    except InvalidInput:  # there is nothing at the path
        value = None
    if isinstance(value, dict | list):
        raise InvalidLimit(
            f"the limit {name!r} of {what} takes {found[0]}, which is not a single value: name a field of it",
            code="no_limit_key",
            limit=name,
        )
    text = as_text(value).strip()
    if not text:
        raise InvalidLimit(
            f"the limit {name!r} of {what} takes {found[0]}, which has no value in this run: give it one",
            code="no_limit_key",
            limit=name,
        )
    return text


def shown_size(size: LimitSize) -> str:
    """Returns the size as people read it.

    >>> shown_size(LimitSize(3, 10, 60.0))
    '3 at once, 10 per 60 s'
    """
    parts = [f"{size.at_most:,} at once"] if size.at_most is not None else []
    if size.rate is not None:
        parts.append(f"{size.rate:,} per {size.per:g} s")
    return ", ".join(parts) or "no size"


def smallest(sizes: Iterable[LimitSize]) -> LimitSize:
    """Returns the size that exceeds none of these."""
    at_most: int | None = None
    rate: tuple[float, LimitSize] | None = None
    for size in sizes:
        if size.at_most is not None:
            at_most = size.at_most if at_most is None else min(at_most, size.at_most)
        if size.rate is not None and (rate is None or size.rate / size.per < rate[0]):
            rate = (size.rate / size.per, size)
    return LimitSize(at_most) if rate is None else LimitSize(at_most, rate[1].rate, rate[1].per)
