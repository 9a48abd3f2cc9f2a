"""Declares where workflow definitions and shared routing rules are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from turnout.model.definitions import DefinitionKind, DefinitionVersion, NewDefinition, RecentRun, StoredDefinition
from turnout.model.routing import StoredRouting


class DefinitionStore(Protocol):
    """Keeps workflow definitions with their versions. Changes are made one after the other, whichever process makes
    them, and each wakes ``definitions``."""

    def newest_revision(self) -> int:
        """Returns the number of the newest change of a definition, or of the shared routing rules."""
        ...

    def definition(self, full_name: str) -> StoredDefinition | None:
        """Returns the definition with the text of its current version; removed ones too."""
        ...

    def definitions(self, *, since: int = 0) -> list[StoredDefinition]:
        """Returns the definitions that were changed after this revision, in the order of their revisions, removed ones
        too. A reader that continues with the highest revision that it has misses no change."""
        ...

    def definition_versions(
        self, full_name: str, *, before: int | None = None, limit: int = 100
    ) -> list[DefinitionVersion]:
        """Returns versions without their texts, newest first; ``before`` is the last number of the previous page."""
        ...

    def definition_version(self, full_name: str, version: int) -> DefinitionVersion | None: ...

    def definition_versions_in_use(self) -> list[DefinitionVersion]:
        """Returns the versions before the current ones that runs which have not ended were started by, with texts."""
        ...

    def put_definition(self, new: NewDefinition, expected: int | None) -> StoredDefinition:
        """Makes the text the newest version if the current one has the number ``expected``; 0: there is none, or it was
        removed; None: whichever it is. Raises StaleDefinition otherwise. The text that is in force already changes
        nothing. Numbers go on after a removal."""
        ...

    def put_findings(
        self, full_name: str, kind: DefinitionKind, file: str, findings: str | None, actor: str
    ) -> StoredDefinition | None:
        """Records what is wrong with the newest text of a file, or with None that nothing is. The current version stays
        in force, and a removed definition removed. One that was uploaded is left as it is."""
        ...

    def remove_definition(
        self, full_name: str, expected: int | None, actor: str, *, with_open_runs: bool = False
    ) -> StoredDefinition | None:
        """Marks the definition as removed, if it has the version that is expected; None if there is none. Raises
        DefinitionInUse while it has open runs, unless they may go on. A run that is submitted at the same moment by a
        process that does not know of the removal yet goes on as well."""
        ...

    def recent_runs(self, workflows: Sequence[str], limit: int) -> dict[str, list[RecentRun]]:
        """Returns the newest runs of each of these workflows, newest first, by one statement."""
        ...


class RoutingStore(Protocol):
    """Keeps the routing rules that all orchestrators share, and a record of every version."""

    def shared_routing(self) -> StoredRouting: ...

    def put_shared_routing(
        self, config: str | None, expected: int | None, *, actor: str, session_id: str
    ) -> StoredRouting:
        """Replaces the shared rules, with None by those of each configuration, if their version is ``expected``; None:
        whichever it is. Raises PreconditionFailed otherwise. Rules that are stored already change nothing. The change
        has the next revision, and wakes ``definitions``."""
        ...

    def record_routing(self, session_id: str, config: str) -> int:
        """Stores a version of the routing rules; returns its number."""
        ...
