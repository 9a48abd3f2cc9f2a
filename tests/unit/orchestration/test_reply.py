"""A reply is set once, from any thread, and wakes threads and event loops that wait for it."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from turnout.orchestration.reply import Reply


def test_a_value_that_is_there_is_returned_at_once() -> None:
    reply: Reply[int] = Reply()
    assert not reply.done()
    assert reply.set_result(1)
    assert reply.done() and reply.result() == 1


def test_it_is_set_once() -> None:
    reply: Reply[int] = Reply()
    assert reply.set_result(1)
    assert not reply.set_result(2)
    assert not reply.set_exception(ValueError("late"))
    assert reply.result() == 1


def test_an_error_is_raised_as_often_as_it_is_asked_for() -> None:
    reply: Reply[int] = Reply()
    reply.set_exception(ValueError("no"))
    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            reply.result()


def test_a_wait_ends_after_its_timeout_and_the_reply_can_still_be_set() -> None:
    reply: Reply[int] = Reply()
    with pytest.raises(TimeoutError):
        reply.result(0.01)
    reply.set_result(3)
    assert reply.result(0.0) == 3


def test_all_threads_that_wait_are_woken() -> None:
    reply: Reply[int] = Reply()
    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(reply.result, 10) for _ in range(8)]
        time.sleep(0.02)
        reply.set_result(4)
        assert [each.result() for each in waiting] == [4] * 8


def test_no_wait_is_missed_however_it_meets_the_answer() -> None:
    for _ in range(500):
        reply: Reply[int] = Reply()
        setter = threading.Thread(target=reply.set_result, args=(5,))
        setter.start()
        assert reply.result(10) == 5
        setter.join()


def test_callbacks_are_called_once_also_those_that_come_late() -> None:
    reply: Reply[int] = Reply()
    called: list[int] = []
    reply.add_done_callback(lambda each: called.append(each.result()))
    reply.set_result(6)
    reply.set_result(7)
    reply.add_done_callback(lambda each: called.append(each.result() + 1))
    assert called == [6, 7]


def test_event_loops_wait_for_it_too() -> None:
    async def waiting() -> tuple[int, int]:
        reply: Reply[int] = Reply()
        threading.Timer(0.02, reply.set_result, (8,)).start()
        return await asyncio.gather(reply.wait(), reply.wait())

    assert tuple(asyncio.run(waiting())) == (8, 8)


def test_a_loop_that_was_closed_meanwhile_does_not_disturb_the_thread_that_answers() -> None:
    reply: Reply[int] = Reply()

    async def gives_up() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reply.wait(), 0.01)

    asyncio.run(gives_up())
    assert reply.set_result(9)
    assert reply.result() == 9
