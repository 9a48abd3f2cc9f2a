"""Makes notifications of a workflow its hooks: each starts a run that delivers the event, and does not wait for it.

The delivery is a run of its own, so that a target which hangs or refuses delays neither the end of the run nor its
result, while its retries are as durable as those of any task.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from types import MappingProxyType
from typing import Any, NoReturn

import msgspec

from turnout.authoring.child import ChildTask
from turnout.authoring.definition import NO_DEFAULTS, Definition, TaskDefaults
from turnout.authoring.graph_builder import GraphBuilder
from turnout.authoring.task import Task
from turnout.authoring.yaml.step_task import StepTask
from turnout.errors import DefinitionError, InvalidWorkflow
from turnout.model.annotations import TypeAdapter
from turnout.model.durations import seconds
from turnout.model.interpolation import Reference, Text, literal
from turnout.model.mail import SmtpSettings, recipients
from turnout.model.names import DELIVERY, hook_name
from turnout.model.notifications import MAX_RETRY_DELAY, Notify, Occasion, checked, url_reference
from turnout.model.secret_reference import SecretReference
from turnout.model.spec import Body, DictOf, FromParam, Hook, Param, TaskSpec, Template, WorkflowSpec
from turnout.model.step import PARAMS, Fields, Interpolated, Mail, Request, Secret, StepSpec, Value
from turnout.model.validation import validate

DELIVER = "deliver"
"""The one task of a delivery."""
EVENT = "event"
"""Its parameter."""
URL, SECRET, PASSWORD = "TURNOUT_NOTIFY_URL", "TURNOUT_NOTIFY_SECRET", "TURNOUT_SMTP_PASSWORD"
MAX_RESPONSE = 4_096
"""Bytes of an answer that are read."""
RETRIED = (6, 7, 22, 28)
"""Exit codes of requests and mails that a later attempt may not have: not found, no connection, an unexpected status or
a refusal for now, no answer in time."""
TIMEOUT_MARGIN = 10.0
"""Seconds that an attempt has beyond the timeout of its request, for the start of a process."""
NO_TYPES: Mapping[str, TypeAdapter] = MappingProxyType({})


def checked_notifications(given: Any, workflow: str) -> tuple[Notify, ...]:
    """Returns the notifications of a workflow. Raises InvalidWorkflow for those that cannot work."""
    if given is None:
        return ()
    many: Sequence[Any] = given if isinstance(given, list | tuple) else (given,)
    try:
        return tuple(checked(each, f"notify[{number}]") for number, each in enumerate(many))
    except InvalidWorkflow as error:
        raise InvalidWorkflow(f"workflow {workflow!r}: {error.message}", code=error.code, **error.fields) from error


def add_notifications(
    specs: MutableMapping[str, TaskSpec],
    tasks: MutableMapping[str, Task[..., Any]],
    notify: Sequence[Notify],
    package: str,
) -> None:
    """Adds a hook for each end of each notification. ``package`` is that of the deliveries."""
    number = sum(isinstance(each, DeliveryTask) for each in tasks.values())
    for each in notify:
        number += 1
        # All have one name, by which they are listed; their packages tell them apart.
        delivery = Delivery(each, package if number == 1 else f"{package}.{number}", DELIVERY)
        label = DELIVERY if number == 1 else f"{DELIVERY}-{number}"
        for on in each.on:
            task = DeliveryTask(delivery)
            name = hook_name(on, label)
            specs[name] = msgspec.structs.replace(task.spec(name), hook=_hook(each, on))
            tasks[name] = task


def _hook(notify: Notify, on: Occasion) -> Hook:
    return Hook(on, takes_outcome=True, after=seconds(notify.after or 0.0) if on == "stuck" else 0.0)


class Delivery:
    """The workflow that delivers the events of one notification: one task, run by an orchestrator's own machine."""

    context_style = False
    params: tuple[Param, ...] = (Param(EVENT),)
    positional: tuple[str, ...] = (EVENT,)
    result: Template | None = None
    ref: str | None = None
    home: Mapping[str, Any] = {}
    gate = ""
    replaceable = True
    types = NO_TYPES

    def __init__(self, notify: Notify, package: str, name: str) -> None:
        self.name = name
        self.package = package
        self.notify = notify
        self.where = f"notify of {package}"

    @property
    def source(self) -> Delivery:
        return self

    @property
    def spec(self) -> WorkflowSpec:
        return self.define().spec

    def define(
        self, tenant: str = "public", defaults: TaskDefaults = NO_DEFAULTS, *, remote_only: bool = False
    ) -> Definition:
        """Returns the definition; private hosts that the configuration names may be reached."""
        task = delivery_task(self.notify, defaults)
        kwargs: dict[str, Template] = {PARAMS: DictOf({EVENT: FromParam(EVENT)})}
        made = msgspec.structs.replace(
            task.spec(DELIVER, kwargs=kwargs), full_name=f"{tenant}::{self.package}::{self.name}::{DELIVER}"
        )
        spec = WorkflowSpec(
            name=self.name, package=self.package, tenant=tenant, tasks=(made,), params=self.params, result=self.result
        )
        validate(spec)
        return Definition(self, spec, {DELIVER: task}, self)

    def draw(self, drawing: GraphBuilder[Task[..., Any]]) -> None:
        raise AssertionError("a delivery has no function to draw")

    def spec_for(self, tenant: str) -> WorkflowSpec:
        return self.define(tenant).spec

    @property
    def tasks(self) -> Mapping[str, Task[..., Any]]:
        return {DELIVER: delivery_task(self.notify, NO_DEFAULTS)}

    def run(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise DefinitionError("a notification is sent at the end of a run, not by a call", code="not_called")

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        self.run()


class DeliveryTask(ChildTask[..., Any]):
    """The hook that starts a delivery. It has completed once the delivery is durable."""

    @property
    def body(self) -> Body:
        return Body("workflow", self.ref, detached=True)


def delivery_task(notify: Notify, defaults: TaskDefaults) -> StepTask:
    """Returns the task that sends an event."""
    timeout = seconds(notify.timeout)
    to = recipients(notify.url)
    if to is None:
        step, shown = _request(notify, timeout, defaults.private_hosts), f"POST {notify.shown}"
    else:
        step, shown = _mail(to, timeout, defaults.smtp), notify.shown
    return StepTask(
        DELIVER,
        step,
        shown,
        {
            "retries": notify.retries,
            "retry_delay": notify.retry_delay,
            "backoff": "exponential",
            "max_delay": MAX_RETRY_DELAY,
            "jitter": 0.2,
            "timeout": timeout + TIMEOUT_MARGIN,
            "worker_selector": "local",
        },
    )


def _request(notify: Notify, timeout: float, private_hosts: tuple[str, ...]) -> StepSpec:
    secrets: list[Secret] = []
    url: Text = literal(notify.url)
    if (place := url_reference(notify.url)) is not None:
        secrets.append(_secret(URL, place))
        url = (Reference(URL),)
    if notify.secret is not None:
        secrets.append(_secret(SECRET, SecretReference.parse(notify.secret, "secret")))
    request = Request(
        url=url,
        method="POST",
        headers={"Content-Type": literal("application/json"), "webhook-id": (Reference("TURNOUT_RUN_ID"),)},
        body=_body(notify),
        public_only=True,
        private_hosts=private_hosts,
        sign=None if notify.secret is None else (Reference(SECRET),),
        follow=False,
        max_response=MAX_RESPONSE,
        timeout=timeout,
    )
    return StepSpec(actions=(request,), secrets=tuple(secrets), retry_codes=RETRIED)


def _mail(to: tuple[str, ...], timeout: float, smtp: SmtpSettings | None) -> StepSpec:
    mail = Mail(
        to=to,
        subject=(Reference(EVENT, ("title",)),),
        text=(Reference(EVENT, ("text",)), "\n\n", Reference(EVENT, ("data",)), "\n"),
        # The same in every attempt, so that a mailbox shows it once.
        message_id=("<", Reference("TURNOUT_RUN_ID"), "@turnout>"),
        timeout=timeout,
    )
    if smtp is None:
        return StepSpec(actions=(mail,))
    mail = msgspec.structs.replace(
        mail,
        host=smtp.host,
        port=smtp.port,
        security=smtp.security,
        sender=smtp.sender,
        username=smtp.username,
        password=None if smtp.password is None else (Reference(PASSWORD),),
    )
    known = () if smtp.password is None else (_secret(PASSWORD, SecretReference.parse(smtp.password, "password")),)
    return StepSpec(actions=(mail,), secrets=known, retry_codes=RETRIED)


def _secret(name: str, place: SecretReference) -> Secret:
    return Secret(name, place.provider, literal(place.key))


def _body(notify: Notify) -> Value:
    if notify.format == "slack":
        return Fields({"text": Interpolated((Reference(EVENT, ("text",)),))})
    return Interpolated((Reference(EVENT),))
