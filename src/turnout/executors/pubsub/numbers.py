"""Assigns the numbers by which handlers on PUB/SUB know runs and their tasks."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from itertools import count

import msgspec

from turnout.contracts.workers import RunNumbers
from turnout.errors import RunNotFound
from turnout.model.names import split_task_id
from turnout.wire.documents import Step
from turnout.wire.topics import step_number

MAX_KNOWN = 10_000
"""Runs whose numbers are remembered."""


class CountedRuns:
    """Numbers for an executor that belongs to no orchestrator: they last as long as the object."""

    def __init__(self) -> None:
        self._next = count(1)
        self._of: dict[str, int] = {}

    async def numbers_of(self, run_ids: Sequence[str]) -> Mapping[str, int]:
        for run_id in run_ids:
            if run_id not in self._of:
                self._of[run_id] = next(self._next)
        return {run_id: self._of[run_id] for run_id in run_ids}


class KnownNumbers:
    """A cache of the numbers of runs whose steps were published lately."""

    def __init__(self, source: RunNumbers | None = None) -> None:
        self._source = source or CountedRuns()
        self._known: OrderedDict[str, int] = OrderedDict()

    def __contains__(self, run_id: str) -> bool:
        return run_id in self._known

    async def learn(self, run_ids: Sequence[str]) -> None:
        """Loads the numbers of these runs that are not in the cache."""
        wanted = [each for each in dict.fromkeys(run_ids) if each not in self._known]
        if wanted:
            self._known.update(await self._source.numbers_of(wanted))
        while len(self._known) > max(MAX_KNOWN, len(wanted)):
            self._known.popitem(last=False)

    def numbered(self, step: Step) -> Step:
        """Returns the step with numbers for ids; raises RunNotFound if its run was deleted meanwhile."""
        run_id, pos = split_task_id(step.step_id)
        number = self._known.get(run_id)
        if number is None:
            raise RunNotFound(f"there is no run {run_id}", run_id=run_id)
        return msgspec.structs.replace(step, step_id=str(step_number(number, pos)), task_id=str(number))
