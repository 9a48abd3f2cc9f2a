"""The supervisor in a Dask scheduler, around a scheduler that only has what is asked of it."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("distributed", reason="the package distributed is not installed")

from turnout.executors.dask import plugin
from turnout.executors.dask.plugin import DaskHost


class SlowClient:
    """A client whose connection takes until the test says so."""

    connected: asyncio.Future[None]

    def __init__(self, *arguments: Any, **options: Any) -> None: ...

    def __await__(self) -> Any:
        yield from self.connected.__await__()
        return self


def host() -> DaskHost:
    scheduler: Any = SimpleNamespace(address="tcp://127.0.0.1:1", security=None, workers={})
    return DaskHost(scheduler, "default", None)


def test_a_second_orchestrator_waits_until_the_supervisor_has_started(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        SlowClient.connected = asyncio.get_running_loop().create_future()
        monkeypatch.setattr(plugin, "Client", SlowClient)
        made = host()
        starting = asyncio.ensure_future(made.start())
        calling = asyncio.ensure_future(made.handle("exchange", ("hub", 1, (), 0.0)))
        await asyncio.sleep(0.01)
        assert not calling.done(), "a step of this call could not be launched"
        SlowClient.connected.set_result(None)
        await starting
        assert (await calling)["holder"] == made.supervisor.holder
        made.supervisor.stop()

    asyncio.run(main())


def test_the_calls_to_a_supervisor_that_could_not_start_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        SlowClient.connected = asyncio.get_running_loop().create_future()
        monkeypatch.setattr(plugin, "Client", SlowClient)
        made = host()
        starting = asyncio.ensure_future(made.start())
        calling = asyncio.ensure_future(made.handle("exchange", ("hub", 1, (), 0.0)))
        await asyncio.sleep(0)
        SlowClient.connected.set_exception(OSError("no route"))
        with pytest.raises(OSError, match="no route"):
            await starting
        with pytest.raises(RuntimeError, match="could not start"):
            await calling

    asyncio.run(main())
