"""Labels that take values of a run's input, and the label of one worker."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout.model.labels import WORKER_LABEL, has_parameters, pinned, unpinned, with_parameters


@pytest.mark.parametrize(
    ("label", "input", "resolved"),
    [
        ("${zone}", {"zone": "eu"}, "eu"),
        ("${params.zone}-2", {"zone": "eu"}, "eu-2"),
        ("${gpu}", {"gpu": True}, "true"),
        ("${count}", {"count": 3}, "3"),
        ("${zone}", {}, "${zone}"),
        ("${zone}", {"zone": None}, "${zone}"),
        ("plain", {"plain": "x"}, "plain"),
    ],
)
def test_a_label_takes_values_of_the_input(label: str, input: dict[str, object], resolved: str) -> None:
    assert with_parameters({"at": label}, input) == {"at": resolved}


def test_only_labels_with_a_name_in_braces_depend_on_the_input() -> None:
    assert has_parameters({"zone": "${zone}"}) and has_parameters({"a": "b", "zone": "x${params.zone}"})
    assert not any(map(has_parameters, (None, "local", {}, {"zone": "$zone"}, {"zone": "${}"}, {"${a}": "b"})))


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=5)), st.text(min_size=1))
def test_a_pinned_label_is_added_and_removed_without_a_trace(labels: dict[str, str], worker: str) -> None:
    assert pinned(labels, worker)[WORKER_LABEL] == worker
    assert unpinned(pinned(labels, worker)) == {name: value for name, value in labels.items() if name != WORKER_LABEL}
