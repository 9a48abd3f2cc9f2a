"""Commands that only look, pointed at something that is no database of Turnout: a clear error, and nothing is made."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import psycopg
import pytest

from tests.acceptance.command import Project

pytestmark = pytest.mark.timeout(600)

LOOKING = [
    "runs ls", "runs show last", "runs history last", "runs cancel last", "runs delete last", "logs last", "graph last",
    "workers ls", "workers show w", "health", "top --once", "metrics", "prune --older-than 1d --dry-run",
    "prune --older-than 1d", "explain flows.py:doubling",
]  # fmt: skip


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    # So that explain, too, looks into the database.
    (tmp_path / "turnout.toml").write_text('[routing]\ndefault = "workers"\n[hub]\naddress = "tcp://127.0.0.1:0"\n')
    return made


def files(folder: Path) -> set[str]:
    return {str(each.relative_to(folder)) for each in folder.rglob("*") if "__pycache__" not in str(each)}


def test_a_mistyped_path_is_an_error_and_no_file_is_made(project: Project) -> None:
    before = files(project.folder)
    url = "sqlite:///data/turnuot.db"
    for done in project.run_all([[*each.split(), "-d", url] for each in LOOKING]):
        assert done.code == 5 and done.out == "", done
        assert "error[database_not_found]: there is no database" in done.err, done
        assert str(project.folder / "data" / "turnuot.db") in done.err and "hint: make the folder" in done.err, done
    assert files(project.folder) == before
    by_variable = project.run("runs", "ls", "--json", TURNOUT_DATABASE=url)
    assert by_variable.code == 5 and by_variable.error["code"] == "database_not_found"
    doctor = project.run("doctor", "-d", url)
    assert "make the folder, or correct --database" in doctor.out and "the first run makes it" not in doctor.out, doctor


def test_a_run_makes_what_is_missing_in_a_folder_that_exists_or_is_the_default_one(project: Project) -> None:
    for url in ("sqlite:///turnuot.db", "sqlite:///.turnout/turnout.db"):
        done = project.run("runs", "ls", "-d", url)
        assert done.code == 5 and "hint: `turnout run` makes it" in done.err, done


def test_the_file_that_was_meant_is_named(project: Project) -> None:
    real = project.folder / "real" / "turnout.db"
    real.parent.mkdir()
    assert (
        project.run("run", "flows.py:doubling", "-d", f"sqlite:///{real}", TURNOUT_ROUTING__DEFAULT="default").code == 0
    )
    typo, relative, folder = project.run_all(
        [["runs", "ls", "-d", f"sqlite:///{path}"] for path in ("real/turnuot.db", str(real)[1:], "real")]
    )
    assert typo.code == 5 and "did you mean 'turnout.db'?" in typo.err
    assert relative.code == 5 and f"an absolute path has four slashes: sqlite:///{real}" in relative.err
    assert folder.code == 5 and "real is a folder: name the database file in it" in folder.err


def test_a_database_of_something_else_is_refused_and_left_as_it_is(project: Project) -> None:
    path = project.folder / "shop.db"
    with sqlite3.connect(path) as database:
        database.execute("create table goods (name text)")
    database.close()
    (project.folder / "empty.db").touch()
    (project.folder / "noise.db").write_bytes(b"this is no database, but long enough to be taken for one" * 40)
    before = path.read_bytes()
    for name, says in (
        ("shop.db", "is no database of Turnout"),
        ("empty.db", "is no database of Turnout"),
        ("noise.db", "is a file of something else"),
    ):
        for done in project.run_all([[*each.split(), "-d", f"sqlite:///{name}"] for each in LOOKING[::5]]):
            assert done.code == 5 and done.out == "" and name in done.err and says in done.err, done
    assert path.read_bytes() == before and (project.folder / "empty.db").read_bytes() == b""


@pytest.mark.empty_database
def test_a_postgresql_database_without_tables_gets_none_by_looking(project: Project, postgres_url: str) -> None:
    for done in project.run_all([[*each.split(), "-d", postgres_url] for each in LOOKING[::5]]):
        assert done.code == 5 and "error[database_not_found]" in done.err and "has no tables of Turnout" in done.err, (
            done
        )
    doctor = project.run("doctor", "-d", postgres_url)
    assert doctor.code == 0 and "the first run makes it" in doctor.out, doctor
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("select count(*) from pg_tables where schemaname = 'public'").fetchone() == (0,)


def test_a_project_in_which_nothing_has_run_yet_is_no_error(project: Project) -> None:
    before = files(project.folder)
    runs, as_json, workers, explained, doctor = project.run_all(
        [["runs", "ls"], ["runs", "ls", "--json"], ["workers", "ls"], ["explain", "flows.py:doubling"], ["doctor"]]
    )
    assert (runs.code, runs.out) == (0, "no runs: the first `turnout run` makes the database\n")
    assert (as_json.code, as_json.json) == (0, [])
    assert (workers.code, explained.code, doctor.code) == (0, 0, 0)
    assert files(project.folder) == before


def test_explain_does_without_a_configured_database_that_is_not_there_yet(project: Project) -> None:
    done = project.run("explain", "flows.py:doubling", TURNOUT_DATABASE="sqlite:///later.db")
    assert done.code == 0 and not (project.folder / "later.db").exists(), done
