"""Names and ids."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor

from turnout.model.names import new_run_id


def test_run_ids_ascend_in_the_order_in_which_they_were_made() -> None:
    made = [new_run_id() for _ in range(5_000)]
    assert made == sorted(made)
    assert {uuid.UUID(each).version for each in made} == {7}


def test_no_two_threads_get_the_same_run_id() -> None:
    with ThreadPoolExecutor(4) as threads:
        made = [each for some in threads.map(lambda _: [new_run_id() for _ in range(500)], range(8)) for each in some]
    assert len(set(made)) == len(made)


def test_ids_that_are_made_within_a_millisecond_differ_in_the_part_that_is_shown() -> None:
    made = [new_run_id() for _ in range(200)]
    assert made == sorted(made)
    assert len({each[:23] for each in made}) == len(made)
