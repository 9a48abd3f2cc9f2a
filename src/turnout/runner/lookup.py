"""Which run is ``0199a2``, or ``last``?"""

from __future__ import annotations

import re

from turnout.contracts.store import ReadStore
from turnout.errors import RunNotFound
from turnout.model.rows import StoredRun

LAST = "last"
PAGE = 100
_HEX = re.compile(r"[0-9a-f]{1,32}")


def find_run(store: ReadStore, wanted: str) -> StoredRun:
    """The run with this id, the only one whose id begins so, or with ``last`` the newest that is no child run."""
    if wanted == LAST:
        return _last(store)
    exact = store.run(wanted)
    if exact is not None:
        return exact
    digits = wanted.lower().replace("-", "")
    if not _HEX.fullmatch(digits):
        raise RunNotFound(f"{wanted!r} is no run: give an id, the beginning of one, or {LAST!r}", run_id=wanted)
    highest = digits.ljust(32, "f")
    below = store.runs(before=highest, limit=3)
    found = [
        run
        for run in (store.run(highest), *below)
        if run is not None and run.new.run_id.replace("-", "").startswith(digits)
    ]
    if not found:
        raise RunNotFound(f"there is no run {wanted}", run_id=wanted)
    if len(found) > 1:
        some = ", ".join(run.new.run_id for run in found[:2]) + (", …" if len(found) > 2 else "")
        raise RunNotFound(f"several runs begin with {wanted}: {some}", code="ambiguous_run", run_id=wanted)
    return found[0]


def _last(store: ReadStore) -> StoredRun:
    before: str | None = None
    while page := store.runs(limit=PAGE, before=before):
        for run in page:
            if run.new.parent_run is None:
                return run
        before = page[-1].new.run_id
    raise RunNotFound("there is no run yet", run_id=LAST)
