"""Reads and writes workflow definitions and their versions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from turnout.errors import DefinitionInUse, StaleDefinition
from turnout.model.definitions import (
    MAX_DEFINITION_VERSIONS,
    DefinitionKind,
    DefinitionVersion,
    NewDefinition,
    RecentRun,
    StoredDefinition,
)
from turnout.store.database import Database, Execute, json_list

_SHOWN_RUNS = 5
"""Open runs that the refusal of a removal names."""
TOPIC = "definitions"


class Definitions:
    """Definitions by full name. All changes pass the row of the counter one after the other."""

    _database: Database

    def definition(self, full_name: str) -> StoredDefinition | None:
        rows = self._database.read("definition", full_name=full_name)
        return _definition(rows[0]) if rows else None

    def definitions(self, *, since: int = 0) -> list[StoredDefinition]:
        return [_definition(row) for row in self._database.read("definitions_since", revision=since)]

    def definition_versions(
        self, full_name: str, *, before: int | None = None, limit: int = MAX_DEFINITION_VERSIONS
    ) -> list[DefinitionVersion]:
        highest = 2**31 - 1 if before is None else before
        rows = self._database.read("definition_versions", full_name=full_name, before=highest, limit=limit)
        return [_version(row) for row in rows]

    def definition_version(self, full_name: str, version: int) -> DefinitionVersion | None:
        rows = self._database.read("definition_version", full_name=full_name, version=version)
        return _version(rows[0]) if rows else None

    def definition_versions_in_use(self) -> list[DefinitionVersion]:
        return [_version(row) for row in self._database.read("definition_versions_in_use")]

    def put_definition(self, new: NewDefinition, expected: int | None) -> StoredDefinition:
        with self._database.transaction() as execute:
            known = _locked(execute, new.full_name)
            _compare(new.full_name, known, expected)
            same_text = known is not None and known.current is not None and _same_text(known.current, new)
            if known is not None and same_text and _in_force(known, new):
                return known
            version = known.version if known is not None and same_text else self._put_version(execute, new)
            columns = {"kind": new.kind, "origin": new.origin, "file": new.file, "version": version, "actor": new.actor}
            execute("put_definition", full_name=new.full_name, revision=_next(execute), **columns)
            return self._announced(execute, new.full_name)

    def _put_version(self, execute: Execute, new: NewDefinition) -> int:
        version = int(execute("newest_definition_version", full_name=new.full_name)[0][0]) + 1
        execute(
            "put_definition_version",
            full_name=new.full_name,
            version=version,
            digest=new.digest,
            text=new.text,
            base=new.base,
            spec_version=new.spec_version,
            remote_only=int(new.remote_only),
            actor=new.actor,
        )
        execute("prune_definition_versions", full_name=new.full_name, version=version - MAX_DEFINITION_VERSIONS)
        return version

    def put_findings(
        self, full_name: str, kind: DefinitionKind, file: str, findings: str | None, actor: str
    ) -> StoredDefinition | None:
        with self._database.transaction() as execute:
            known = _locked(execute, full_name)
            if known is None and findings is None:
                return None
            uploaded = known is not None and known.origin == "api" and not known.removed
            if known is not None and (known.findings == findings or uploaded):
                return known
            given = {"kind": kind, "file": file, "findings": findings, "actor": actor}
            execute("put_findings", full_name=full_name, revision=_next(execute), **given)
            return self._announced(execute, full_name)

    def remove_definition(
        self, full_name: str, expected: int | None, actor: str, *, with_open_runs: bool = False
    ) -> StoredDefinition | None:
        with self._database.transaction() as execute:
            known = _locked(execute, full_name)
            if known is None or known.removed:
                return None
            _compare(full_name, known, expected)
            if not with_open_runs:
                _refuse_open_runs(execute, full_name)
            execute("remove_definition", full_name=full_name, actor=actor, revision=_next(execute))
            return self._announced(execute, full_name)

    def recent_runs(self, workflows: Sequence[str], limit: int) -> dict[str, list[RecentRun]]:
        rows = self._database.read("recent_runs", workflows=json_list(workflows), limit=limit) if workflows else []
        return {name: _recent_runs(text or "[]") for name, text in rows}

    def _announced(self, execute: Execute, full_name: str) -> StoredDefinition:
        """Returns the definition as it is now. Other processes are notified with the commit."""
        if self._database.dialect == "postgres":
            execute("notify", topic=TOPIC)
        return _definition(execute("definition", full_name=full_name)[0])


_recent_runs = msgspec.json.Decoder(list[RecentRun]).decode


def _locked(execute: Execute, full_name: str) -> StoredDefinition | None:
    """Returns the definition, which no other process changes until this transaction ends."""
    execute("lock_revision")
    rows = execute("definition", full_name=full_name)
    return _definition(rows[0]) if rows else None


def _next(execute: Execute) -> int:
    return int(execute("next_revision")[0][0])


def _compare(full_name: str, known: StoredDefinition | None, expected: int | None) -> None:
    found = known.version if known is not None and known.exists else 0
    if expected is None or expected == found:
        return
    name = full_name.rpartition("::")[2]
    if expected == 0:
        raise StaleDefinition(
            f"workflow {name!r} exists already, as version {found}: read it, and replace that version",
            workflow=name,
            version=found,
        )
    state = f"its version is {found}" if found else "it does not exist any more"
    raise StaleDefinition(
        f"workflow {name!r} was changed since version {expected} was read: {state}; read it again",
        workflow=name,
        version=found,
    )


def _same_text(current: DefinitionVersion, new: NewDefinition) -> bool:
    """True if both mean the same. The spec of a YAML text may differ between servers by their default options; that of
    a Python file may come from another file."""
    if (current.digest, current.remote_only) != (new.digest, new.remote_only):
        return False
    return new.kind == "yaml" or current.spec_version == new.spec_version


def _in_force(known: StoredDefinition, new: NewDefinition) -> bool:
    return known.exists and known.findings is None and (known.origin, known.file) == (new.origin, new.file)


def _refuse_open_runs(execute: Execute, full_name: str) -> None:
    open_ = [str(row[0]) for row in execute("open_runs_of", full_name=full_name, limit=_SHOWN_RUNS)]
    if open_:
        name = full_name.rpartition("::")[2]
        raise DefinitionInUse(
            f"workflow {name!r} has open runs ({', '.join(open_)}): wait for them, or cancel them first",
            workflow=name,
            runs=open_,
        )


def _definition(row: tuple[Any, ...]) -> StoredDefinition:
    full_name, kind, origin, file, version, updated_at, updated_by, removed, revision, findings, *current = row
    return StoredDefinition(
        full_name=full_name,
        kind=kind,
        origin=origin,
        file=file,
        version=version,
        updated_at=updated_at,
        updated_by=updated_by,
        removed=bool(removed),
        revision=revision,
        findings=findings,
        current=None if current[0] is None else _version((full_name, version, *current)),
    )


def _version(row: tuple[Any, ...]) -> DefinitionVersion:
    full_name, version, digest, spec_version, created_at, actor, text, base, remote_only = row
    return DefinitionVersion(
        full_name=full_name,
        version=version,
        digest=digest,
        spec_version=spec_version,
        created_at=created_at,
        actor=actor,
        text=text,
        base=base,
        remote_only=bool(remote_only),
    )
