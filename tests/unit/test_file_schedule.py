"""The schedule of test files: whatever a process dies in, every other test is run once, and the session ends."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.file_schedule import FileSchedule


class Process:
    """A process of pytest-xdist: it begins a test when it knows the next, or that there is none."""

    def __init__(self, name: str, deadly: frozenset[str]) -> None:
        self.gateway = SimpleNamespace(id=name)
        self.shutting_down = False
        self._deadly = deadly
        self._queue: list[int] = []

    def send_runtest_some(self, indices: Sequence[int]) -> None:
        assert indices, "an assignment without tests is never completed"
        self._queue += indices

    def shutdown(self) -> None:
        self.shutting_down = True

    def next_test(self) -> int | None:
        return self._queue.pop(0) if len(self._queue) > 1 or (self._queue and self.shutting_down) else None


class Session:
    """What ``DSession`` of pytest-xdist does with a schedule, one test after the other."""

    def __init__(self, tests: list[str], processes: int, deadly: frozenset[str]) -> None:
        option = SimpleNamespace(loadscopereorder=False)
        config = SimpleNamespace(getvalue=lambda _: [f"{processes}*popen"], option=option)
        self.schedule: Any = FileSchedule(cast("pytest.Config", config))
        self.tests, self.deadly = tests, deadly
        self.done: list[tuple[str, str]] = []
        self.failed: list[str] = []
        self.processes: list[Process] = []
        for _ in range(processes):
            self.start()
        self.schedule.schedule()

    def start(self) -> None:
        process = Process(f"gw{len(self.done) + len(self.failed)}-{len(self.processes)}", self.deadly)
        self.processes.append(process)
        self.schedule.add_node(process)
        self.schedule.add_node_collection(process, self.tests)

    def run(self) -> None:
        while ready := [(process, at) for process in self.processes if (at := process.next_test()) is not None]:
            for process, at in ready:
                if self.tests[at] in self.deadly:
                    self.processes.remove(process)
                    self.failed.append(self.schedule.remove_node(process))
                    assert len(self.failed) <= len(self.deadly), "a test that has failed is run again"
                    self.start()
                    self.schedule.schedule()
                else:
                    self.done.append((process.gateway.id, self.tests[at]))
                    self.schedule.mark_test_complete(process, at)


def session_of(files: list[int], processes: int, deadly: frozenset[str] = frozenset()) -> Session:
    tests = [f"test_{number}.py::test_{each}" for number, count in enumerate(files) for each in range(count)]
    return Session(tests, processes, deadly & set(tests))


def test_a_file_is_run_by_one_process() -> None:
    session = session_of([3, 1, 2, 1, 1, 4], processes=3)
    session.run()
    assert sorted(test for _, test in session.done) == sorted(session.tests)
    assert len({(process, test.split("::")[0]) for process, test in session.done}) == 6


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=8),
    st.integers(1, 4),
    st.frozensets(st.builds("test_{}.py::test_{}".format, st.integers(0, 7), st.integers(0, 3)), max_size=6),
)
def test_tests_that_their_process_dies_in_fail_and_all_others_are_run_once(
    files: list[int], processes: int, deadly: frozenset[str]
) -> None:
    session = session_of(files, processes, deadly)
    session.run()
    assert sorted(session.failed) == sorted(session.deadly)
    assert sorted(test for _, test in session.done) == sorted(set(session.tests) - session.deadly)
    assert not session.schedule.has_pending and session.schedule.tests_finished
    assert all(process.shutting_down for process in session.processes if process in session.schedule.nodes)
