"""Declares where the slots of limits are kept, and how they are given."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from turnout.model.limit_deadlocks import Deadlocks
from turnout.model.limit_declarations import LimitDeclaration
from turnout.model.limits import LimitSize
from turnout.model.slot_admission import Admitted
from turnout.model.slots import AdmissionScope, HeldLimit, LimitDetail, LimitView, SlotRequest


class LimitStore(Protocol):
    """Keeps the slots of limits. A slot counts only while its run, or its task in that attempt, is open. Slots are
    given by one transaction at a time, over all processes, by the decision in ``model/slot_admission.py``; the
    database's clock measures rates and waits."""

    def put_limit_sizes(self, sizes: Mapping[str, LimitSize]) -> list[str]:
        """Replaces the sizes of the configuration, by the names as they are declared. Returns those that had another
        size before."""
        ...

    def put_limit_declarations(
        self, declared: Mapping[str, Sequence[LimitDeclaration]], gone: Collection[str] = ()
    ) -> list[LimitDeclaration]:
        """Replaces the sizes that these workflows declare, by full name, and removes those of workflows that are gone.
        Dropped are also those of definitions that were removed, and those that no orchestrator has confirmed for five
        minutes. Returns all that are known then."""
        ...

    def limit_declarations(self) -> list[LimitDeclaration]:
        """Returns the sizes that workflows declare, by limit and workflow."""
        ...

    def admit_waiting(self, names: Sequence[str] | None = None, scope: AdmissionScope | None = None) -> Admitted:
        """Gives free slots of these limits, or of any, to what waits for them: each waiter gets all of its limits, or
        none. Runs outside of the scope are passed over; without one there are none. A run that got its slots can be
        claimed; wakes ``runs`` and ``limits``. Bounded: a call that has given slots may have left more to give."""
        ...

    def request_slots(self, requests: Sequence[SlotRequest], scope: AdmissionScope | None = None) -> Admitted:
        """Adds attempts of tasks to those that wait, unless they do already or hold their slots, and gives free slots
        as ``admit_waiting`` does."""
        ...

    def queued_versions(self, workflows: Sequence[str]) -> list[str]:
        """Returns the versions of runs that wait for limits, of other workflows than these."""
        ...

    def runs_without_slots(self, run_ids: Sequence[str]) -> frozenset[str]:
        """Returns those of these runs that wait for a slot themselves."""
        ...

    def granted_tasks(self, run_ids: Sequence[str]) -> dict[tuple[str, int, int], float]:
        """Returns run id, position and attempt of the tasks of these runs that have all their slots, with the seconds
        since they have them."""
        ...

    def limits(self) -> list[LimitView]:
        """Returns the limits that are configured, declared, held or waited for, by name."""
        ...

    def limit(self, name: str) -> LimitDetail | None:
        """Returns a limit with its holders, and its waiters in their order."""
        ...

    def limit_deadlocks(self) -> Deadlocks:
        """Returns the limits whose slots are held by runs that wait for one another in a circle."""
        ...

    def limits_of(self, run_id: str) -> list[HeldLimit]:
        """Returns the limits that a run and its tasks hold or wait for."""
        ...
