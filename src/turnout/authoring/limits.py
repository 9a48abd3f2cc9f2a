"""Holds limits as authors write them: ``Limit("customer-${customer_id}", at_most=3)``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from turnout.errors import InvalidWorkflow
from turnout.model.durations import Duration, seconds
from turnout.model.limits import BAD_LIMIT, DEFAULT_PERIOD, LimitSpec


class Limit(msgspec.Struct, frozen=True):
    """A limit for ``@workflow(limits=[…])`` or ``@task(limits=[…])``, shared by all that name it on one database.

    With ``${parameter}`` in the name there is one limit for each value of the parameter. Without ``at_most`` and
    ``rate`` the size is that of the configuration.

    >>> Limit("customer-${customer_id}", at_most=3).spec("workflow 'import'")
    LimitSpec(name='customer-${customer_id}', at_most=3, rate=None, per=1.0)
    """

    name: str
    at_most: int | None = None
    """The greatest number of holders at once."""
    rate: int | None = None
    """The greatest number that begin within ``per``."""
    per: Duration = DEFAULT_PERIOD
    """The period of ``rate``: a number of seconds, text such as ``"1m"``, or a timedelta."""

    def spec(self, what: str) -> LimitSpec:
        """Returns the limit as a value of the spec."""
        return LimitSpec(self.name, self.at_most, self.rate, seconds(self.per, f"per of limit {self.name!r} of {what}"))


def limit_specs(given: Any, what: str) -> tuple[LimitSpec, ...]:
    """Returns the limits of an option: a limit, a name, or a list of them."""
    listed: Sequence[Any] = given if isinstance(given, list | tuple) else (given,)
    return tuple(_spec(each, what) for each in listed)


def _spec(given: Any, what: str) -> LimitSpec:
    match given:
        case Limit():
            return given.spec(what)
        case LimitSpec():
            return given
        case str():
            return LimitSpec(given)
        case _:
            raise InvalidWorkflow(
                f'limits of {what} has {given!r}: write Limit("database", at_most=3), or a configured limit\'s name',
                code=BAD_LIMIT,
                value=given,
            )


def checked_queue(queue: Any, workflow: str) -> str:
    """Returns the name of a workflow's queue; empty without one."""
    if queue is None:
        return ""
    if not isinstance(queue, str) or not queue.strip():
        raise InvalidWorkflow(
            f"queue of workflow {workflow!r} is {queue!r}: write the name of a configured queue, or leave it out",
            code=BAD_LIMIT,
            field="queue",
        )
    return queue
