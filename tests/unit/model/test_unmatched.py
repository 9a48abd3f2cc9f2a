"""The worker that comes nearest to what a task needs."""

from __future__ import annotations

import pytest

from turnout.model.reasons import no_worker_matches
from turnout.model.unmatched import nearest, needs_in
from turnout.model.workers import ANY_HANDLER, WorkerView


def worker(name: str, *handlers: str, draining: bool = False, **labels: str) -> WorkerView:
    return WorkerView(id=name, name=name, handlers=handlers, labels=labels, draining=draining)


def test_the_worker_that_lacks_the_fewest_labels_is_nearest() -> None:
    workers = [worker("bare", "train"), worker("half", "train", gpu="true"), worker("other", "train", gpu="false")]
    found = nearest("train", {"gpu": "true", "zone": "a"}, workers)
    assert found is not None and found.worker == "half"
    assert (found.missing, found.has, found.lacks_handler) == ({"zone": "a"}, {}, False)


def test_a_label_with_another_value_is_missing_and_the_value_is_told() -> None:
    found = nearest("train", {"gpu": "true"}, [worker("cpu", ANY_HANDLER, gpu="false")])
    assert found is not None and (found.missing, found.has) == ({"gpu": "true"}, {"gpu": "false"})


def test_a_missing_handler_counts_and_a_worker_that_leaves_comes_last() -> None:
    found = nearest("train", {"gpu": "true"}, [worker("a", gpu="true", draining=True), worker("b", "mail")])
    assert found is not None and found.worker == "b" and found.lacks_handler
    assert nearest("train", {}, []) is None


@pytest.mark.parametrize("labels", [{}, {"gpu": "true"}, {"a": "}", "b": "x, y", "c": ""}])
def test_the_handler_and_the_labels_are_read_from_the_reason(labels: dict[str, str]) -> None:
    assert needs_in(no_worker_matches(labels, "pkg:train")) == ("pkg:train", labels)
    assert needs_in("no_capacity") == ("", {})
