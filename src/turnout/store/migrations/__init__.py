"""Lists the migrations of the schema: numbered SQL files, with checksums that never change."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

import msgspec

from turnout.errors import MigrationMismatch, SchemaTooNew
from turnout.store.queries import Dialect


class Migration(msgspec.Struct, frozen=True):
    number: int
    name: str
    text: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


@cache
def migrations(dialect: Dialect) -> tuple[Migration, ...]:
    """Returns all migrations of the dialect, in order."""
    found: list[Migration] = []
    for file in files("turnout.store.migrations").joinpath(dialect).iterdir():
        number, _, name = file.name.removesuffix(".sql").partition("_")
        if file.name.endswith(".sql"):
            found.append(Migration(int(number), name, file.read_text(encoding="utf-8")))
    return tuple(sorted(found, key=lambda migration: migration.number))


def outstanding(dialect: Dialect, applied: Iterable[tuple[int, str]]) -> list[Migration]:
    """Returns the migrations that the database lacks. Raises for a newer schema, or another one."""
    known = {migration.number: migration for migration in migrations(dialect)}
    done = dict(applied)
    for number, checksum in sorted(done.items()):
        if number not in known:
            raise SchemaTooNew(
                f"the database has schema {max(done)}, this Turnout knows up to {max(known)}: upgrade Turnout",
                found=max(done),
                known=max(known),
            )
        if known[number].checksum != checksum:
            raise MigrationMismatch(
                f"migration {number} of the database is not the one that this version of Turnout has", number=number
            )
    return [migration for number, migration in sorted(known.items()) if number not in done]
