"""The tree of a run: one line for each task, whatever there is of them."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout.cli.output import plain_text
from turnout.cli.tree import count_spans, fitting, item_of, lines, nodes, remedies
from turnout.model.events import ErrorInfo
from turnout.model.spec import Body, TaskSpec, WorkflowSpec
from turnout.model.states import TaskState
from turnout.runner.views import TaskView

BODY = Body("python", "m:f")


def workflow(**depends_on: str) -> WorkflowSpec:
    """``workflow(a="", b="a")``: b waits for a."""
    return WorkflowSpec(
        "w", tuple(TaskSpec(name, BODY, depends_on=tuple(on.split())) for name, on in depends_on.items())
    )


def view(name: str, state: str = "completed", **more: object) -> TaskView:
    return TaskView(name=name, state=TaskState(state), **more)  # type: ignore[arg-type]


def render(spec: WorkflowSpec, *views: TaskView, now: float = 0.0) -> list[str]:
    return [plain_text(line) for line in lines(nodes(spec, views), now)]


def test_tasks_stand_below_those_that_they_wait_for() -> None:
    spec = workflow(validate="", charge="validate", reserve="validate", ship="charge reserve")
    shown = render(spec, *(view(task.name) for task in spec.tasks))
    assert [line.rstrip() for line in shown] == ["✓ validate", "├─ ✓ charge", "└─ ✓ reserve", "   ✓ ship"]


def test_a_chain_does_not_wander_to_the_right() -> None:
    names = [f"t{number}" for number in range(50)]
    spec = WorkflowSpec(
        "w", tuple(TaskSpec(name, BODY, depends_on=tuple(names[at - 1 : at])) for at, name in enumerate(names))
    )
    assert {node.guide for node in nodes(spec, [view(name) for name in names])} == {""}


def test_a_line_says_state_executor_time_attempt_and_error() -> None:
    spec = workflow(a="")
    failed = view(
        "a",
        "failed",
        attempt=4,
        begun=3,
        executor="gpu",
        started_at=1.0,
        finished_at=2.5,
        error=ErrorInfo("KeyError", "'x'\nmore"),
    )
    assert render(spec, failed) == ["✗ a  gpu    1.5 s  attempt 3  KeyError: 'x'"]
    running = view("a", "running", attempt=1, executor="gpu", dispatched_at=1.0)
    assert render(spec, running, now=1.25) == ["▶ a  gpu   250 ms"]


def test_a_task_that_waits_says_for_whom_or_why() -> None:
    spec = workflow(a="", b="a")
    assert render(spec, view("a", "running"), view("b", "pending"))[1].endswith("waits for a")
    retry = view("a", "ready", reason="retry_at", error=ErrorInfo("IOError", "down"))
    line = render(spec, retry, view("b", "pending"))[0]
    assert line.startswith("↻ a") and line.endswith("will be retried: IOError: down")
    counted = render(spec, msgspec.structs.replace(retry, retry_in=12.34), view("b", "pending"))[0]
    assert counted.endswith("will be retried in 12.3 s: IOError: down")
    deferred = view("a", "ready", reason="deferred", retry_in=75.0)
    assert render(spec, deferred, view("b", "pending"))[0].endswith("deferred for 1m15s")


@pytest.mark.parametrize(
    ("reason", "executor", "words"),
    [
        ("no_capacity", None, "waits for a free slot (no_capacity)"),
        ("no_capacity", "gpu", "waits for a free slot in executor gpu (no_capacity)"),
        ("no_worker_matches{gpu=true} handler train", None,
         "waits for a worker with gpu=true and handler train (no_worker_matches)"),
        ("no_worker_matches{} handler train", None, "waits for a worker with handler train (no_worker_matches)"),
        ("waiting_for_its_worker{north-1; zone=north}", None,
         "stays on worker north-1 until its lease ends, then on any with zone=north (waiting_for_its_worker)"),
        ("waiting_for_poller", "night", "waits for a poller of night (waiting_for_poller)"),
        ("breaker_open", "gpu", "waits for executor gpu to recover (breaker_open)"),
        ("breaker_open{worker gpu-1, gpu-2}", None, "waits for worker gpu-1, gpu-2 to recover (breaker_open)"),
        ("limit", None, "waits for other items, by max_parallel (limit)"),
        ("something_new", None, "something_new"),
    ],
)  # fmt: skip
def test_a_ready_task_says_in_words_who_it_waits_for(reason: str, executor: str | None, words: str) -> None:
    spec = workflow(a="")
    assert render(spec, view("a", "ready", reason=reason, executor=executor))[0].endswith(f"  {words}")


def test_a_running_task_says_how_far_it_is() -> None:
    spec = workflow(a="")
    (node,) = nodes(spec, [view("a", "running", attempt=1, executor="gpu", dispatched_at=1.0)])
    node.progress = "3 of 10, three files"
    assert plain_text(lines([node], 2.0)[0]) == "▶ a  gpu    1.0 s  3 of 10, three files"


def test_mapped_tasks_are_one_line_with_counts() -> None:
    spec = workflow(a="", resize="a")
    states = ["completed"] * 9900 + ["failed"] * 12 + ["running"] * 32 + ["ready"] * 50 + ["pending"] * 6
    items = [view(f"resize[{number}]", state) for number, state in enumerate(states)]
    shown = render(spec, view("a"), view("resize", "running"), *items)
    assert len(shown) == 2
    assert shown[1].endswith("  9,912/10,000 · 12 failed · 32 running · 99 %")
    assert item_of("resize[3]") == ("resize", 3) and item_of("resize") is None


def mapped(states: list[str], progress: dict[str, str]) -> list[str]:
    spec = workflow(a="", resize="a", b="a")
    items = [view(f"resize[{number}]", state, attempt=1) for number, state in enumerate(states)]
    state = "running" if {"running", "ready", "pending"} & set(states) else "completed"
    found = nodes(spec, [view("a"), view("resize", state), view("b"), *items], progress)
    return [plain_text(line) for line in lines(found, 0.0)]


def test_a_mapped_task_says_how_far_its_items_are_together() -> None:
    said = {"resize[2]": '{"done":3,"total":4}', "resize[3]": '{"done":7}'}
    shown = mapped(["completed", "completed", "running", "running", "pending"], said)
    assert shown[1].endswith("2/5 · 2 running · 55 %"), "two, and three quarters of one, are 55 % of five"
    assert mapped(["completed"] * 4, {})[1].endswith("4/4")
    assert mapped(["completed"] * 999 + ["running"], {"resize[999]": '{"done":999,"total":1000}'})[1].endswith("99 %")
    assert mapped(["failed", "cancelled", "skipped"], {})[1].endswith("3/3 · 1 failed · 1 skipped · 1 cancelled")


def test_running_items_that_say_how_far_they_are_stand_below_their_task() -> None:
    said = {f"resize[{number}]": f'{{"done":{number},"total":10,"message":"rows"}}' for number in range(1, 9)}
    shown = mapped(["running"] * 9, said)
    assert [line.split()[-4:] for line in shown[2:-1]] == [[f"{number}", "of", "10,", "rows"] for number in range(1, 6)]
    assert shown[2].startswith("│    ▶ resize[1]") and shown[-1].startswith("└─ ✓ b")
    ended = mapped(["completed", "running"], {"resize[0]": '{"done":1,"total":10}'})
    assert not any("resize[" in line for line in ended), "what an item said before it ended is of no use any more"


@given(
    st.lists(st.sampled_from([state.value for state in TaskState]), min_size=1, max_size=30),
    st.lists(st.tuples(st.floats(-10, 100), st.floats(0.1, 100)), max_size=30),
)
def test_a_mapped_task_is_at_most_as_far_as_all_of_it(states: list[str], said: list[tuple[float, float]]) -> None:
    progress = {f"resize[{n}]": f'{{"done":{done},"total":{total}}}' for n, (done, total) in enumerate(said)}
    words = mapped(states, progress)[1].split()
    if "%" in words:
        assert 0 <= int(words[words.index("%") - 1]) <= 100


@given(st.lists(st.sampled_from(list(TaskState)), max_size=60), st.integers(2, 20))
def test_what_does_not_fit_is_counted_and_what_needs_attention_is_shown(states: list[TaskState], room: int) -> None:
    spec = WorkflowSpec("w", tuple(TaskSpec(f"t{number}", BODY) for number in range(len(states))))
    found = nodes(spec, [view(f"t{number}", state) for number, state in enumerate(states)])
    kept, hidden = fitting(found, room)
    assert len(kept) + len(hidden) == len(states)
    assert len(kept) <= room and (not hidden or len(kept) == room - 1)
    assert [node.task.name for node in kept] == sorted(
        (node.task.name for node in kept), key=lambda name: int(name[1:])
    )
    if any(node.task.state is TaskState.FAILED for node in hidden):
        assert all(node.task.state is TaskState.FAILED for node in kept)


@given(st.lists(st.sampled_from(list(TaskState))))
def test_the_counts_lose_nobody(states: list[TaskState]) -> None:
    shown = plain_text(count_spans(Counter(states))).split()
    assert sum(int(word) for word in shown[1::2]) == len(states)


def test_waits_come_with_what_ends_them_each_once() -> None:
    waits = [
        view("a", "ready", reason="no_worker_matches{gpu=true} handler train"),
        view("b", "ready", reason="no_worker_matches{gpu=true} handler train"),
        view("c", "ready", reason="limit"),
        view("d", "ready", reason="retry_at"),
        view("e", "ready", reason="in an executor's own words"),
        view("f", "running"),
    ]
    first, second = remedies(waits)
    assert first.startswith("no_worker_matches: Start a worker with this handler and these labels")
    assert second.startswith("limit: Wait: `turnout limits show NAME` shows")
