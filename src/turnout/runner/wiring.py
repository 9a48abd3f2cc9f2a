"""Which executors does a Runner have, and how does its dispatcher know them?"""

from __future__ import annotations

import msgspec

from turnout.dispatcher import DefaultDispatcher
from turnout.executors.thread import ThreadExecutor
from turnout.runner.settings import RunnerConfig


def make_dispatcher(config: RunnerConfig) -> DefaultDispatcher:
    """A dispatcher with the rules and all executors, among them always one named ``default``."""
    placement = msgspec.structs.replace(config.placement, polled_keys=frozenset(config.polling))
    dispatcher = DefaultDispatcher(config.routing, placement, output_limit=config.max_output_bytes)
    executors = dict(config.executors)
    if "default" not in executors:
        executors = {"default": ThreadExecutor(max_output_bytes=config.max_output_bytes), **executors}
    for key, executor in executors.items():
        dispatcher.register_executor(key, executor)
    return dispatcher
