"""Holds the rows that the store keeps of workflow definitions: the definition, its versions, and what is written."""

from __future__ import annotations

import hashlib
from typing import Literal, TypeAlias

import msgspec

DefinitionKind: TypeAlias = Literal["yaml", "python"]
DefinitionOrigin: TypeAlias = Literal["file", "api"]

MAX_DEFINITION_VERSIONS = 100
"""Versions that are kept of each definition; above it the oldest are deleted."""


class NewDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """A text that becomes the newest version of a definition."""

    full_name: str
    """``tenant::package::workflow``, as runs name their workflow."""
    kind: DefinitionKind
    origin: DefinitionOrigin
    text: str
    spec_version: str
    """The version of the spec that the text gives, as runs store it."""
    actor: str
    base: str | None = None
    """The text that the definition inherits from, as ``base.yaml`` was then."""
    file: str | None = None
    """Of a definition from a file: the file, relative to its workflow folder."""
    remote_only: bool = False
    """True if its tasks may run on workers only."""

    @property
    def digest(self) -> str:
        return text_digest(self.text, self.base)


class DefinitionVersion(msgspec.Struct, frozen=True, kw_only=True):
    """One version of a definition."""

    full_name: str
    version: int
    digest: str
    spec_version: str
    created_at: float
    actor: str
    text: str = ""
    """Empty in lists."""
    base: str | None = None
    remote_only: bool = False


class StoredDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """A definition as it is stored, with its current version."""

    full_name: str
    kind: DefinitionKind
    origin: DefinitionOrigin
    file: str | None
    version: int
    """The number of the current version; 0 if there was no valid text yet."""
    updated_at: float
    updated_by: str
    removed: bool
    """True if new runs are refused: it was deleted, or its file is gone. Its versions stay."""
    revision: int
    """The number of the change that made it as it is: each change of any definition has the next number."""
    findings: str | None
    """JSON list of the findings of the newest text, if that is invalid; the current version stays in force."""
    current: DefinitionVersion | None

    @property
    def exists(self) -> bool:
        """True if new runs can be started by it."""
        return self.version > 0 and not self.removed


class RecentRun(msgspec.Struct, frozen=True, array_like=True):
    """One of the newest runs of a workflow."""

    run_id: str
    state: str
    created_at: float
    started_at: float | None
    finished_at: float | None


def text_digest(text: str, base: str | None = None) -> str:
    """Returns the digest by which two texts of a definition are compared."""
    digest = hashlib.sha256(text.encode())
    if base is not None:
        digest.update(b"\0")
        digest.update(base.encode())
    return digest.hexdigest()
