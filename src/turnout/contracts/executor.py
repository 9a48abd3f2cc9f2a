"""Declares what runs attempts. About thirty lines make a custom one; see docs/how-to/custom-executor.md."""

from __future__ import annotations

import asyncio
import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import msgspec

from turnout.contracts.clock import boot_time
from turnout.contracts.workers import Assigner, HolderPorts, ResultHolder
from turnout.errors import AttemptFenced, ExecutionFailed
from turnout.model.deferral import Condition
from turnout.model.events import ExecutionResult, ExecutorMetrics, TaskReadyEvent
from turnout.model.info import Output, TaskInfo, Waiter, current_task, info_of, reset_current, set_current
from turnout.model.resources import Resources
from turnout.model.spec import TaskSpec

BEGIN_WITHIN = 1.0
"""Seconds after which an attempt that its run's owner did not hand over is not begun without another look at the store:
so long a pause or a cancellation waits for pollers."""
TOO_LATE = "its time to begin was over: another executor may have it by now"
Report = Callable[[ExecutionResult], None]
"""Hands a result in. May be called from any thread; each result is taken once."""


class BatchReport(ABC):
    """A ``Report`` that also takes several results together: that of the dispatcher."""

    def __call__(self, result: ExecutionResult) -> None:
        self.all((result,))

    @abstractmethod
    def all(self, results: Sequence[ExecutionResult]) -> None:
        """Hands these results in, in their order."""


RunWork: TypeAlias = "Callable[[Work], Awaitable[ExecutionResult]]"
"""Runs an attempt in this process and returns its result; used by ``Work.run``."""


class Work(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Everything that is needed to run one attempt."""

    event: TaskReadyEvent
    task: TaskSpec
    body: Callable[..., Any] | None
    """The Python function; None for other kinds of body."""
    workflow: str = ""
    """The workflow's full name."""
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = {}
    context: dict[str, Any] | None = None
    """Context style: the merged context to hand to the body."""
    run_input: Mapping[str, Any] = {}
    """For handlers elsewhere: what the run was started with."""
    previous: dict[str, Any] = {}
    """For handlers elsewhere: the outputs of the tasks that this one depends on, by name."""
    index: int | None = None
    """Of an item of a mapped task: which one, from 0."""
    labels: dict[str, str] = {}
    """What it asks of the worker that runs it."""
    resources: Resources | None = None
    """What it asks of its executor, as it was decided; None: nothing."""
    timeout: float | None = None
    time_left: float | None = None
    """Seconds until its run is to be over, where the run has a timeout: then its result is not needed."""
    idempotency_key: str = ""
    """The same for every attempt of this task in this run."""
    token: str = ""
    """The fencing token: grows with every attempt."""
    saved: Any = None
    """What an earlier attempt saved when it deferred itself."""
    condition: Condition | None = None
    """What must hold before the body is called; ``invoke`` checks it. For executors that call the body elsewhere."""
    predicate: Callable[..., Any] | None = None
    """The function that the task declares for ``condition``; None: it declares none, and the attempt fails."""
    retry_predicate: Callable[[BaseException], bool] | None = None
    bind_body: Callable[[TaskInfo], Callable[[], Any]] | None = None
    """Gives the body with all that it asks for (arguments, ``TaskInfo``, ``Context``) bound to it. Called, it gives the
    output; in Context style that is the context as the body left it. For an async body: an awaitable of the output.
    None: ``body(*args, **kwargs)`` is all there is to it. Executors use ``invoke``, which knows both."""
    call: Callable[[TaskInfo], Any] | None = None
    """Called instead of the body: it checks the condition first."""

    fence: Callable[[], float] | None = None
    """Until when the attempt may begin, by ``contracts.clock.boot_time``, as things stand when it is asked: as long as
    no other executor can have been given it. None: for ever. ``invoke`` asks it right before the body."""

    output: Output | None = None
    """Takes the output of the body; None where it is not stored. What a body prints or logs in this process, under
    ``invoke``, gets there by itself. An executor that runs bodies elsewhere reads their output itself and calls
    ``output(event, stream, text)``, or ``turnout.runtime.capture.relay``, which shows it here as well if asked to."""
    runner: RunWork | None = None
    """Given by the loader of an orchestrator."""
    traceparent: str = ""
    """The header of W3C Trace Context that makes the attempt the parent of what it does; empty without telemetry. The
    body that ``invoke`` calls has it as its current context already."""

    async def run(self) -> ExecutionResult:
        """Runs the attempt in this process, off the engine's event loop, and returns its result.

        Sync bodies run in a thread, async ones on an event loop of their own. The body gets its ``TaskInfo``; its
        condition is checked first; its output is stored; its return value, its exception or ``Defer`` becomes the
        result; its timeout ends it. If the call is cancelled, so is the attempt. A body that this program does not have
        is answered as ``returned``.
        """
        if self.runner is None:
            raise ExecutionFailed("this work cannot be run here: its loader is not one of an orchestrator")
        return await self.runner(self)

    def info(self, started_at: float | None = None, waiter: Waiter | None = None) -> TaskInfo:
        """Returns what the body of this attempt may know, if it starts now."""
        return info_of(
            self.event,
            idempotency_key=self.idempotency_key,
            token=self.token,
            timeout=self.timeout,
            index=self.index,
            labels=self.labels,
            workflow=self.workflow,
            name=self.task.name,
            started_at=started_at,
            waiter=waiter,
            saved=self.saved,
            output=self.output,
        )

    def invoke(self, info: TaskInfo | None = None) -> Any:
        """Calls the body here and now, as the current task. Returns an awaitable if the body is async. ``run`` handles
        its timeout and its exceptions; ``invoke`` does not."""
        if info is None:
            info = self.info()
        if current_task() is info:
            return self.invoke_current(info)
        if info.output is None:
            info.output = self.output
        token = set_current(info)
        try:
            value = self.invoke_current(info)
        finally:
            reset_current(token)
        return _under(info, value) if inspect.iscoroutine(value) else value

    def may_begin(self) -> bool:
        """True if the body may begin now. ``invoke`` checks it itself."""
        # The fence first: a process that is stopped in between finds that the time is over.
        return self.fence is None or self.fence() >= boot_time()

    def begin_by(self) -> float | None:
        """Returns the time until which the body may begin, for a body that another process of this machine calls; None:
        at any time. Raises AttemptFenced if that time is over."""
        until = math.inf if self.fence is None else self.fence()
        if until < boot_time():
            raise AttemptFenced(TOO_LATE)
        return until if until < math.inf else None

    def invoke_current(self, info: TaskInfo) -> Any:
        """Calls the body where its info is that of the current task already; ``invoke`` makes it so."""
        if self.call is not None:
            self.begin_by()
            return self.call(info)
        bind = self.bind_body
        body = self.body if bind is None else bind(info)
        assert body is not None
        # Converting values may take long. Nothing comes between the look at the clock and the body.
        if self.fence is not None and self.fence() < boot_time():
            raise AttemptFenced(TOO_LATE)
        return body(*self.args, **self.kwargs) if bind is None else body()


async def _under(info: TaskInfo, rest: Coroutine[Any, Any, Any]) -> Any:
    token = set_current(info)
    try:
        return await rest
    finally:
        reset_current(token)


_INVOKING = frozenset({Work.invoke.__code__, _under.__code__})


def came_from_body(error: BaseException | None) -> bool:
    """True if this exception, or what it was raised from, came out of a body by way of ``Work.invoke``."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        step = error.__traceback__
        while step is not None:
            if step.tb_frame.f_code in _INVOKING:
                return True
            step = step.tb_next
        error = error.__cause__
    return False


class Loader(Protocol):
    """Loads the work of an attempt from the owner's memory, else from the store."""

    async def load(self, event: TaskReadyEvent) -> Work: ...

    def load_now(self, event: TaskReadyEvent) -> Work | None:
        """Returns the work if it is in memory (None: use ``load``). Quick, and callable from any thread."""
        ...

    def load_blocking(self, event: TaskReadyEvent) -> Work:
        """Returns the work, waiting for the store if it must; for executors that run in threads."""
        ...


@runtime_checkable
class TaskExecutor(Protocol):
    """A backend that runs attempts. Optional members that the dispatcher uses when present:

    - ``capacity: int`` how many attempts it takes at once; without it, attempts are handed over one by one, each only
      when ``has_capacity()`` is true;
    - ``execute_many(events, report)`` takes a batch and returns at once; results go to ``report``;
    - ``capacity_of(body)`` the same for attempts with this body (``event.body``), where it depends on the body;
    - ``cancel(event)`` asks for a running attempt to stop;
    - ``withdraw(events, reason)`` answers ``returned`` for those of these attempts that have not begun. None of them
      begins once it has returned, or once the awaitable that it returns is done. Without it, an attempt counts as
      begun as soon as it was handed over;
    - ``on_capacity(callback)`` takes a function to call, from any thread, when slots became free without a result
      (a coroutine that left its thread, a body that outlived its timeout and has returned at last);
    - ``start()`` / ``stop(timeout)`` coroutines around its life;
    - ``enforces_timeouts = True`` if it applies task timeouts itself;
    - ``refuses(task)`` says why it can never run this task (a function that it could not find), None if it may;
    - ``fits(resources)`` says why it can never give an attempt these resources, naming the nearest that it has ("asks
      for gpu=4; the largest node has gpu=2"), None if it may. Quick, without I/O, and callable from any thread;
    - ``isolates = True`` if every attempt has a process of its own, so that none can take others with it;
    - ``reattach(event)`` a coroutine that returns the result of an attempt which an orchestrator that has ended began;
      None if the executor does not know it, and then it is lost. It makes ``outlives`` true;
    - ``outlives = True`` if its attempts go on when this process ends, and are answered for elsewhere;
    - ``assign(selector)`` and the rest of ``contracts.workers.Assigner`` if it chooses among several holders;
    - ``acknowledge(results)`` and the rest of ``contracts.workers.ResultHolder`` if it keeps results until they are
      durable;
    - ``check()`` a coroutine that returns why it cannot reach what it needs, None if it can: for ``turnout doctor``;
    - ``trusted = True`` if its outputs were made by ``dump_output``, so that they are not checked again.
    """

    local: bool
    kinds: frozenset[str]

    @property
    def name(self) -> str: ...

    def bind(self, loader: Loader) -> None: ...

    async def execute(self, event: TaskReadyEvent) -> ExecutionResult: ...

    def has_capacity(self) -> bool: ...

    def metrics(self) -> ExecutorMetrics: ...


class BatchExecutor(TaskExecutor, Protocol):
    """All that the dispatcher uses of an executor; no member is optional.

    The executors of this package inherit it. A plain ``TaskExecutor`` gets it from the adapter in
    ``turnout.dispatcher.executor_adapter``. A class that inherits it may leave what has a default here as it is.
    """

    enforces_timeouts: bool = False
    """It applies task timeouts itself."""
    isolates: bool = False
    """Every attempt has a process of its own."""
    outlives: bool = False
    """Its attempts go on when this process ends, and their results are delivered elsewhere."""
    reattaches: bool = False
    """It takes an attempt that an orchestrator which has ended began: its event is marked ``again``."""
    trusted: bool = False
    """Its results are sound and need no check: outputs were made by ``dump_output``."""

    @property
    def capacity(self) -> int | None:
        """The number of attempts that it takes at once. None: it names no number, and attempts are handed over one by
        one, each when ``has_capacity()`` is true."""
        ...

    def capacity_of(self, body: str) -> int | None:
        """The capacity for attempts with this body."""
        return self.capacity

    async def execute(self, event: TaskReadyEvent) -> ExecutionResult:
        """Returns the result of one attempt. If the call is cancelled, so is the attempt."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[ExecutionResult] = loop.create_future()

        def report(result: ExecutionResult) -> None:
            loop.call_soon_threadsafe(lambda: answer.done() or answer.set_result(result))

        self.execute_many((event,), report)
        try:
            return await answer
        except asyncio.CancelledError:
            self.cancel(event)
            raise

    def execute_many(self, events: Sequence[TaskReadyEvent], report: Report) -> None:
        """Takes a batch and returns at once. Results go to ``report``, from any thread."""
        ...

    def cancel(self, event: TaskReadyEvent) -> None:
        """Asks for a running attempt to stop; its result, if any, still comes."""

    def abandon(self, event: TaskReadyEvent) -> None:
        """Called when the dispatcher has ended the attempt: it is to stop, and no result of it is taken."""
        self.cancel(event)

    def withdraw(self, events: Sequence[TaskReadyEvent], reason: str) -> Awaitable[Any] | None:
        """Reports ``returned`` for those of these attempts that have not begun. None of them begins once it has
        returned, or once the awaitable that it returns is done."""
        return None

    def leave(self) -> int:
        """Called if it reattaches, when other orchestrators drive the runs of what it has: nothing of it is reported
        here. Returns how many attempts that are."""
        return 0

    def on_capacity(self, callback: Callable[[], None]) -> None:
        """Takes a function to call, from any thread, when capacity became free without a result."""

    def refuses(self, task: TaskSpec) -> str | None:
        """Returns why it can never run this task; None if it may."""
        return None

    def fits(self, resources: Resources) -> str | None:
        """Returns why it can never give an attempt these resources, naming the nearest that it has; None if it may.
        Quick, without I/O, and callable from any thread."""
        return None

    async def start(self) -> None: ...

    async def stop(self, timeout: float) -> None: ...


class RemoteExecutor(BatchExecutor, Assigner, ResultHolder, HolderPorts, Protocol):
    """An executor whose attempts are held by others, each named before the commit, and acknowledged after it."""
