"""kill -9 in the middle of a map: its items go on elsewhere, none is lost, none that was recorded runs again."""

from __future__ import annotations

import random
from collections import Counter

from tests.faults.children import Children, eventually
from tests.faults.guarantees import check_history, query
from tests.faults.scale import scaled

RUNS = scaled(4, 30)
KILLS = scaled(4, 25)
FAN = 8
TASKS = 2 + 2 * FAN
"""Bodies of one run: the list, what collects it, and two items for each of its places."""


def test_a_map_survives_kill_9_of_its_only_process_again_and_again(children: Children) -> None:
    chance, executions = random.Random(3), children.executions
    options = {"workflow": "fanned", "runs": RUNS, "seconds": 0.05}
    child = children.start("submit", **options)
    for _ in range(KILLS):
        child.wait_for("ready")
        wanted = len(executions) + chance.randint(1, max(1, RUNS * TASKS // (KILLS + 1)))
        eventually("bodies run", lambda wanted=wanted, child=child: len(executions) >= wanted or child.said("finished"))
        child.kill()
        child = children.start("submit", **options)
    assert child.finished() == {"completed": RUNS}
    started = executions.per_task()
    assert len(started) == RUNS * TASKS
    again = sum(started.values()) - RUNS * TASKS
    print(f"{KILLS} kills, {again} bodies started again")
    ledger = check_history(children.url)
    attempts = Counter((move.run_id, move.pos) for move in ledger.moves if move.new == "running" and move.pos >= 0)
    assert all(ledger.tasks[place].attempt == count for place, count in attempts.items())


def test_a_map_killed_between_its_items_coming_and_their_first_start_is_taken_up(children: Children) -> None:
    # The first commit stores the run, the second adds the items: the process dies before it can act on that.
    victim = children.start("submit", workflow="fanned", runs=1, die_after_commits=2)
    eventually("the victim is dead", lambda: not victim.alive)
    assert not [each for each in children.executions.all() if each.task == "item"]
    assert query(children.url, "select count(*) from task where item_of is not null") == [(2 * FAN,)]
    again = children.start("submit", workflow="fanned", runs=1)
    assert again.finished() == {"completed": 1}
    assert len(children.executions.per_task()) == TASKS


def test_a_survivor_goes_on_in_the_middle_of_a_map_and_keeps_its_limit(children: Children) -> None:
    survivor = children.start("serve")
    survivor.wait_for("ready")
    victim = children.start("submit", workflow="fanned", runs=1, seconds=0.4)
    eventually("items run", lambda: sum(each.task == "item" for each in children.executions.all()) >= 4)
    victim.kill()
    again = children.start("submit", workflow="fanned", runs=1, seconds=0.4)
    assert again.finished() == {"completed": 1}
    assert len(children.executions.per_task()) == TASKS
    _check_limit(children.url, 3)


def _check_limit(url: str, limit: int) -> None:
    """Replay the history: never more items of the limited map are running than its limit."""
    ledger = check_history(url)
    running: set[tuple[str, int]] = set()
    for move in ledger.moves:
        if move.pos >= 0 and ledger.tasks[move.run_id, move.pos].name.startswith("item["):
            place = (move.run_id, move.pos)
            if move.new == "running":
                running.add(place)
            else:
                running.discard(place)
            assert len(running) <= limit, "more items were running than max_parallel allows"
