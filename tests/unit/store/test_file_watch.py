"""A wait for writes to a file ends with the write, with the end of the watch, or after an interval."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from turnout.store.sqlite.file_watch import FileWatch

LONG = 60.0
NOTICES = pytest.mark.skipif(not hasattr(os, "eventfd"), reason="the kernel gives no notices of writes here")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "log").write_bytes(b"1")
    return tmp_path / "log"


@pytest.fixture
def watch(file: Path) -> Iterator[FileWatch]:
    watch = FileWatch(str(file), poll=0.001, fallback=LONG)
    yield watch
    watch.end()
    watch.close()


def append(file: Path) -> None:
    with file.open("ab") as stream:
        stream.write(b"2")


@NOTICES
def test_a_write_ends_the_wait(file: Path, watch: FileWatch) -> None:
    assert watch.wait(settled=True)  # a poll: the watch begins
    for _ in range(3):
        append(file)
        assert watch.wait(settled=True)
    late = threading.Timer(0.05, append, [file])
    late.start()
    assert watch.wait(settled=True)
    late.join()


@NOTICES
def test_a_file_that_comes_later_or_is_replaced_is_watched(tmp_path: Path) -> None:
    file = tmp_path / "later"
    watch = FileWatch(str(file), poll=0.001, fallback=LONG)
    assert watch.wait(settled=True) and watch.wait(settled=True), "without a file it polls"
    for _ in range(2):
        append(file)
        assert watch.wait(settled=True)  # a poll: the watch begins
        append(file)
        assert watch.wait(settled=True)
        file.unlink()
        assert watch.wait(settled=True), "the end of the file is a notice too"
    watch.close()


@NOTICES
def test_the_end_of_the_watch_ends_a_wait_from_another_thread(watch: FileWatch) -> None:
    assert watch.wait(settled=True)
    threading.Timer(0.05, watch.end).start()
    assert not watch.wait(settled=True)
    assert not watch.wait(settled=False)


@pytest.mark.parametrize("settled", [True, False])
def test_without_a_file_or_before_earlier_writes_are_settled_it_polls(file: Path, settled: bool) -> None:
    watch = FileWatch(None if settled else str(file), poll=0.001, fallback=LONG)
    assert watch.wait(settled=settled) and watch.wait(settled=settled)
    watch.end()
    assert not watch.wait(settled=settled)
    watch.close()
    watch.end()  # once more does no harm


def test_a_lost_notice_costs_the_fallback_interval(file: Path) -> None:
    watch = FileWatch(str(file), poll=0.001, fallback=0.002)
    assert watch.wait(settled=True) and watch.wait(settled=True)
    watch.close()


def test_without_notices_of_the_kernel_it_polls(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "eventfd", raising=False)
    watch = FileWatch(str(file), poll=0.001, fallback=LONG)
    assert watch.wait(settled=True) and watch.wait(settled=True)
    watch.close()
