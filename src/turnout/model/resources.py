"""Holds the resources that a task asks of its executor, and reads them as authors write them: pure.

``{"cpu": 4, "gpu": 1, "memory": "8GiB", "license": 1}``: cores and devices as numbers, memory as a size, and any other
name as a number of whatever the executor means by it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

import msgspec

from turnout.errors import InvalidWorkflow, TurnoutError
from turnout.model.names import is_identifier

BAD_RESOURCES = "bad_resources"
"""The code of resources that cannot be asked for."""
MAX_RESOURCES = 32
"""Names in one request."""
MAX_AMOUNT = 1e12
"""Of a number; of a size ``MAX_BYTES_OF_MEMORY``."""
MAX_BYTES_OF_MEMORY = 2**60

Given: TypeAlias = Mapping[str, float | str]
"""Resources as authors and rules write them."""

_BINARY = {"": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_DECIMAL = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS = {unit.lower(): size for unit, size in (_BINARY | _DECIMAL).items()}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", re.ASCII)
_NUMBER = re.compile(r"\d+(?:\.\d+)?", re.ASCII)
_SHOWN_UNITS = tuple(reversed([item for item in _BINARY.items() if item[0]]))


class Resources(msgspec.Struct, frozen=True, omit_defaults=True):
    """The request of one attempt. None, or a name that is not there: nothing is asked."""

    cpu: float | None = None
    """Cores; a fraction is a share of one."""
    gpu: float | None = None
    memory: int | None = None
    """Bytes."""
    custom: dict[str, float] = {}
    """Amounts by names that only the executor knows."""

    def amounts(self) -> dict[str, float]:
        """Returns every amount by its name, memory in bytes."""
        own = {"cpu": self.cpu, "gpu": self.gpu, "memory": self.memory}
        return {name: value for name, value in own.items() if value is not None} | self.custom

    def text(self) -> str:
        """Returns the request as one line.

        >>> Resources(cpu=4, gpu=1, memory=8 * 2**30).text()
        'cpu=4 gpu=1 memory=8GiB'
        """
        return " ".join(f"{name}={self.shown(name)}" for name in self.amounts())

    def shown(self, name: str) -> str:
        """Returns the amount of this name as text."""
        amount = self.amounts()[name]
        return shown_size(int(amount)) if name == "memory" else f"{amount:.12g}"

    def document(self) -> dict[str, float | str]:
        """Returns the request as authors write it: the form of the API and of JSON output."""
        return {
            name: self.shown(name) if name == "memory" else int(value) if value == int(value) else value
            for name, value in self.amounts().items()
        }

    def replaced_by(self, other: Resources) -> Resources:
        """Returns these resources with the entries of ``other`` in place of those of the same name."""
        return Resources(
            self.cpu if other.cpu is None else other.cpu,
            self.gpu if other.gpu is None else other.gpu,
            self.memory if other.memory is None else other.memory,
            {**self.custom, **other.custom},
        )


decode_resources: Callable[[str], Resources] = msgspec.json.Decoder(Resources).decode
"""One decoder for all threads, built at import (see ``decode_spec``)."""


def parse_resources(
    given: Any, what: str, *, error: type[TurnoutError] = InvalidWorkflow, code: str = BAD_RESOURCES
) -> Resources | None:
    """Returns resources as authors write them; None if nothing is asked. ``what`` names their place in the message.

    >>> parse_resources({"gpu": 1, "memory": "8GiB"}, "resources of task 'fit'")
    Resources(cpu=None, gpu=1.0, memory=8589934592, custom={})
    """
    if given is None or isinstance(given, Resources):
        given = None if given is None else given.document()
    if given is None:
        return None

    def refuse(why: str, right: str, name: str, value: Any) -> TurnoutError:
        return error(f"{what}{why}: {right}", code=code, resource=name, value=value)

    if not isinstance(given, Mapping):
        right = 'write a table of amounts, such as {"gpu": 1, "cpu": 4, "memory": "8GiB"}'
        raise refuse(f" is {given!r}", right, "", repr(given))
    if len(given) > MAX_RESOURCES:
        raise refuse(f" has {len(given):,} names", f"write at most {MAX_RESOURCES}", "", len(given))
    custom: dict[str, float] = {}
    found: dict[str, float] = {}
    for name, value in given.items():
        if not isinstance(name, str) or not is_identifier(name):
            right = "write a letter or _, then letters, digits, _, - or ., at most 128 characters"
            raise refuse(f" has the name {name!r}", right, repr(name), name)
        if value is None:
            continue
        amount = _bytes(value) if name == "memory" else _amount(value)
        if amount is None:
            right = (
                'write a number of bytes above 0, or text such as "8GiB" or "512MB"'
                if name == "memory"
                else "write a number from 0, such as 1 or 0.5"
            )
            raise refuse(f": {name} is {value!r}", right, name, repr(value))
        (found if name in ("cpu", "gpu", "memory") else custom)[name] = amount
    made = Resources(found.get("cpu"), found.get("gpu"), _whole(found.get("memory")), custom)
    return made if made.amounts() else None


def lacking(asked: Resources, there: Mapping[str, float], place: str) -> str | None:
    """Returns why ``place`` with these amounts can never give what is asked, naming what it has; None if it can.

    A name that is not in ``there`` is an amount of 0; math.inf is an amount without a limit.

    >>> lacking(Resources(gpu=4), {"cpu": 8, "gpu": 2}, "the largest node")
    'asks for gpu=4; the largest node has gpu=2'
    """
    amounts = asked.amounts()
    missing = [name for name, amount in amounts.items() if amount > there.get(name, 0.0)]
    if not missing:
        return None
    return f"asks for {_listed(missing, amounts)}; {place} has {_listed(missing, there)}"


def merged(task: Resources | None, rule: Resources | None) -> Resources | None:
    """Returns what the task asks for, with the entries of the rule in place of its own."""
    if task is None or rule is None:
        return rule if task is None else task
    return task.replaced_by(rule)


def origin(task: Resources | None, rule: Resources | None, rule_name: str) -> str:
    """Returns the merged request in words, with the origin of its entries; empty without any.

    >>> origin(Resources(cpu=4, gpu=1), Resources(gpu=2), "rule 1")
    'resources cpu=4 of the task, gpu=2 of rule 1'
    """
    ruled = rule.amounts() if rule is not None else {}
    parts: list[str] = []
    kept = [name for name in (task.amounts() if task is not None else {}) if name not in ruled]
    if task is not None and kept:
        parts.append(f"{' '.join(f'{name}={task.shown(name)}' for name in kept)} of the task")
    if rule is not None and ruled:
        parts.append(f"{rule.text()} of {rule_name}")
    return f"resources {', '.join(parts)}" if parts else ""


def shown_size(number: int) -> str:
    """Returns a number of bytes exactly, in the largest unit that gives a whole number.

    >>> shown_size(8 * 2**30), shown_size(1536 * 2**20), shown_size(1000)
    ('8GiB', '1536MiB', '1000')
    """
    for unit, size in _SHOWN_UNITS:
        if number >= size and number % size == 0:
            return f"{number // size}{unit}"
    return str(number)


def _listed(names: Iterable[str], amounts: Mapping[str, float]) -> str:
    return " ".join(f"{name}={_shown(name, amounts.get(name, 0.0))}" for name in names)


def _shown(name: str, amount: float) -> str:
    return shown_size(int(amount)) if name == "memory" and math.isfinite(amount) else f"{amount:.12g}"


def _amount(value: Any) -> float | None:
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        value = float(value)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= MAX_AMOUNT:
        return None
    return float(value)


def _bytes(value: Any) -> float | None:
    if isinstance(value, str):
        match = _SIZE.fullmatch(value.strip())
        unit = None if match is None else _UNITS.get(match[2].lower())
        if match is None or unit is None:
            return None
        # Exact: a size with many digits is no float.
        value = int(Fraction(match[1]) * unit)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 1 <= value <= MAX_BYTES_OF_MEMORY:
        return None
    return value


def _whole(number: float | None) -> int | None:
    return None if number is None else int(number)
