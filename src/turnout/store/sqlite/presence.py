"""Whether a path names a database of Turnout; where it does not, what it names and what was probably meant."""

from __future__ import annotations

from pathlib import Path

from turnout.errors import DatabaseNotFound
from turnout.model.names import suggest_similar
from turnout.store.sqlite.connection import SqliteDatabase, translated

_TABLES = {"migration", "run"}
MAGIC = b"SQLite format 3\x00"
"""The first bytes of every SQLite file."""


def refuse_absence(database: SqliteDatabase) -> None:
    """Raise DatabaseNotFound unless the file is there and a store has been opened in it before. Writes nothing."""
    if database.in_memory:
        return
    path = Path(database.path)
    if path.is_dir():
        raise DatabaseNotFound(f"{path} is a folder: name the database file in it", path=str(path))
    if not path.exists():
        raise DatabaseNotFound(f"there is no database {path.absolute()}{_meant(path)}", path=str(path))
    if not _is_sqlite(path):
        raise DatabaseNotFound(
            f"{path} is a file of something else, or a database whose beginning is damaged", path=str(path)
        )
    with translated(database.path):
        tables = {name for (name,) in database.connection().execute("select name from sqlite_master")}
    if not tables >= _TABLES:
        raise DatabaseNotFound(f"{path} is no database of Turnout: its tables are not there", path=str(path))


def _meant(path: Path) -> str:
    """What to add to the message: the file that was probably meant."""
    rooted = Path("/") / path
    if not path.is_absolute() and rooted.is_file():
        return f"; an absolute path has four slashes: sqlite:///{rooted}"
    if not path.parent.is_dir():
        return f": there is no folder {path.parent.absolute()}"
    return suggest_similar(path.name, [each.name for each in path.parent.iterdir() if each.is_file()])


def _is_sqlite(path: Path) -> bool:
    """True unless the file begins with something else. One that cannot be read is for opening it to explain."""
    try:
        with path.open("rb") as file:
            begin = file.read(len(MAGIC))
    except OSError:
        return True
    return not begin or begin == MAGIC
