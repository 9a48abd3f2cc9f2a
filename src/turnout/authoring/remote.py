"""Makes a handler that workers run, in any language, a task without a local function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn, Unpack

from turnout.authoring.options import TaskOptions, predicate_names
from turnout.authoring.task import Task
from turnout.errors import InputError, InvalidWorkflow, PermanentFailure
from turnout.model.spec import Body
from turnout.model.types import to_json_value
from turnout.model.values import dump_output

MAX_HANDLER_LENGTH = 256


class RemoteTask(Task[..., Any]):
    """A task whose body is a handler of a worker. Called in a workflow function it adds a node; it cannot run here."""

    def __init__(self, name: str, handler: str, config: Mapping[str, Any], options: TaskOptions) -> None:
        if "retry_if" in options:
            raise InvalidWorkflow(
                f"the remote task {name!r} has the option retry_if, a function that is called where the body runs: "
                "let the handler say whether its error is retryable, or use retry_on",
                code="remote_option",
                task=name,
            )
        self.handler = handler
        self.config = _plain_config(config, name)
        super().__init__(_elsewhere(name, handler), {**options, "name": options.get("name", name)})

    @property
    def ref(self) -> str:
        return self.handler

    @property
    def body(self) -> Body:
        named = predicate_names(self.given, self.name)
        return Body("handler", self.handler, config=self.config, conditions=named)

    @property
    def conditions(self) -> Mapping[str, Callable[..., Any]]:
        """Empty: the worker calls the predicates that its handler waits for. The spec has their names."""
        return {}


def remote(
    name: str, /, *, handler: str, config: Mapping[str, Any] | None = None, **options: Unpack[TaskOptions]
) -> RemoteTask:
    """Declares a task whose body a worker runs: ``ship = remote("ship", handler="OrderFulfillment::ShipOrder")``.

    In a workflow it is called like a task, with its arguments by name: ``ship(order=order)``. The handler gets them as
    ``metadata.args``, and ``config``, a JSON object that is the same for every call, as ``handler_config``. The options
    are those of ``@task``; ``worker_selector={"gpu": "true"}`` says which workers may have it. ``conditions`` are the
    names (``"module:function"``) of the predicates that a handler in Python may wait for.
    """
    if not isinstance(handler, str) or not 0 < len(handler) <= MAX_HANDLER_LENGTH:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidWorkflow(
            f"remote({name!r}, handler={handler!r}): give the name that the handler is registered under, "
            f"1 to {MAX_HANDLER_LENGTH} characters",
            code="bad_handler",
            task=name,
        )
    return RemoteTask(name, handler, config or {}, options)


def _plain_config(config: Mapping[str, Any], name: str) -> dict[str, Any]:
    what = f"config of the remote task {name!r}"
    try:
        value = to_json_value(dict(config), what)
        dump_output(value, what=what)
    except (InputError, TypeError, ValueError) as error:
        message = error.message if isinstance(error, InputError) else f"{what} is {config!r}: write a dict"
        raise InvalidWorkflow(message, code="bad_config", task=name) from error
    return value


def _elsewhere(name: str, handler: str) -> Any:
    def run(**arguments: Any) -> NoReturn:
        raise PermanentFailure(
            f"{name!r} is run by the handler {handler!r} of a worker, not in this process. "
            f"In a test, fake it: run_inline(…, fakes={{{name!r}: …}})",
            code="needs_worker",
        )

    run.__name__ = run.__qualname__ = name
    return run
