"""Random trouble for processes, by a seed: they are killed, stopped and started again, one after another."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from typing import Protocol

import msgspec


class Process(Protocol):
    pid: int

    @property
    def alive(self) -> bool: ...

    def signal(self, number: signal.Signals) -> None: ...

    def kill(self) -> None: ...

    def wait(self) -> object: ...


class Post(msgspec.Struct, eq=False):
    """A place that is always filled: whoever falls out of it is replaced."""

    name: str
    start: Callable[[], Process]
    process: Process
    alone: bool = False
    """Has to be gone before the next one can begin; others are there before it has left, as a deployment does it."""
    stopped_until: float | None = None


class Trouble:
    """``lease`` is how long a process may be silent: some stops are shorter, some longer."""

    def __init__(self, posts: list[Post], chance: random.Random, lease: float) -> None:
        self._posts, self._chance, self._lease = posts, chance, lease
        self.made: Counter[str] = Counter()

    def make(self) -> None:
        """Do something to somebody."""
        self._let_go_on(time.monotonic())
        post = self._chance.choice([each for each in self._posts if each.stopped_until is None] or self._posts)
        what = self._chance.choice(("kill", "kill", "short stop", "long stop", "restart"))
        self.made[f"{what} {post.name}"] += 1
        if what == "kill":
            self._replace(post)
        elif what == "restart":
            post.process.signal(signal.SIGTERM)
            if post.alone:
                post.process.wait()
            post.process = post.start()
        else:
            pause = self._lease * (self._chance.uniform(0.1, 0.6) if what == "short stop" else 1.5)
            post.process.signal(signal.SIGSTOP)
            post.stopped_until = time.monotonic() + pause

    def end(self) -> None:
        """Everybody goes on, and is there."""
        self._let_go_on(float("inf"))
        for post in self._posts:
            if not post.process.alive:
                self._replace(post)

    def _let_go_on(self, now: float) -> None:
        for post in self._posts:
            if post.stopped_until is not None and now >= post.stopped_until:
                post.process.signal(signal.SIGCONT)
                post.stopped_until = None

    def _replace(self, post: Post) -> None:
        post.process.kill()
        post.stopped_until = None
        post.process = post.start()
