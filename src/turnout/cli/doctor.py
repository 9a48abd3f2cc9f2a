"""``turnout doctor``: would things work here?"""

from __future__ import annotations

from turnout.cli.options import Database, Json


def doctor(as_json: Json = False, database: Database = None) -> int:
    """Check database, clock, versions, executors and limits.

    Exit code 0 if all is well.

    \b
    turnout doctor
    turnout doctor --database postgresql://db.example/turnout
    """
    from turnout.cli.checkup import Grade, checkup
    from turnout.cli.failure import Exit
    from turnout.cli.output import say_columns, say_json

    found = checkup(database)
    bad = [each for each in found if each.grade is Grade.BAD]
    if as_json:
        say_json({"ok": not bad, "checks": found})
    else:
        marks = {Grade.GOOD: ("✓", "green"), Grade.FAIR: ("!", "yellow"), Grade.BAD: ("✗", "red")}
        say_columns([[marks[each.grade], (each.name, ""), (each.said, "")] for each in found])
    if not bad:
        return Exit.OK
    return Exit.STORE if any(each.name == "database" for each in bad) else Exit.USAGE
