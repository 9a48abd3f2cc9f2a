"""The decision: RFC 010's matrix, and the order of the design."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout.dispatcher import (
    HubUnavailable,
    NoExecutor,
    PlacementSettings,
    Router,
    RoutingConfig,
    RoutingRule,
    decide,
    explain,
    require_hub,
)
from turnout.dispatcher.placement import lacks_hub
from turnout.errors import InvalidRouting
from turnout.model.resources import Resources
from turnout.model.spec import Body, TaskSpec, WorkflowSpec
from turnout.model.step import Request, StepSpec
from turnout.model.step_containment import contained

Make = Callable[..., Any]
GPU = {"gpu": "true"}


def rfc_rows() -> list[tuple[bool, bool, str, bool, str]]:
    """RFC 010's five rows with every "any" written out: force local, hub, mode, labels, result."""
    rows: list[tuple[bool, bool, str, bool, str]] = []
    for hub in (True, False):
        for mode in ("local", "distributed"):
            rows.append((True, hub, mode, False, "default"))
    for mode in ("local", "distributed"):
        for labels in (True, False):
            rows.append((False, False, mode, labels, "default"))
        rows.append((False, True, mode, True, "workers"))
    rows.append((False, True, "distributed", False, "workers"))
    rows.append((False, True, "local", False, "default"))
    return rows


@pytest.mark.parametrize("said_by", ["task", "workflow"])
@pytest.mark.parametrize(("force_local", "hub", "mode", "labels", "expected"), rfc_rows())
def test_the_matrix_of_rfc_010(
    task_of: Make, workflow_of: Make, said_by: str, force_local: bool, hub: bool, mode: Any, labels: bool, expected: str
) -> None:
    selector = "local" if force_local else GPU if labels else None
    task = task_of(worker_selector=selector if said_by == "task" else None)
    workflow = workflow_of(task, worker_selector=selector if said_by == "workflow" else None)
    settings = PlacementSettings(hub_configured=hub, default_execution_mode=mode)
    decision = decide(task, workflow, settings, Router(RoutingConfig()))
    assert decision.executor_key == expected
    assert decision.labels == (GPU if labels and expected == "workers" else None)


@pytest.mark.parametrize(
    ("on_task", "on_workflow", "expected"),
    [
        ("local", GPU, ("default", "worker_selector local on the task: default executor", None)),
        (GPU, "local", ("workers", "worker_selector {gpu=true} on the task → workers", GPU)),
        ({"zone": "a"}, GPU, ("workers", "worker_selector {zone=a} on the task → workers", {"zone": "a"})),
        (None, GPU, ("workers", "worker_selector {gpu=true} on the workflow → workers", GPU)),
        (None, "local", ("default", "worker_selector local on the workflow: default executor", None)),
    ],
)
def test_a_selector_on_the_task_replaces_that_of_the_workflow(
    task_of: Make, workflow_of: Make, on_task: Any, on_workflow: Any, expected: tuple[str, str, Any]
) -> None:
    task = task_of(worker_selector=on_task)
    settings = PlacementSettings(hub_configured=True, default_execution_mode="distributed")
    decision = decide(task, workflow_of(task, worker_selector=on_workflow), settings, Router(RoutingConfig()))
    assert (decision.executor_key, decision.reason, decision.labels) == expected


def test_labels_take_values_of_the_runs_input(task_of: Make, workflow_of: Make) -> None:
    task, settings = task_of(worker_selector={"zone": "${zone}"}), PlacementSettings(hub_configured=True)
    decision = decide(task, workflow_of(task), settings, Router(RoutingConfig()), "run", {"zone": "eu"})
    assert (decision.reason, decision.labels) == ("worker_selector {zone=eu} on the task → workers", {"zone": "eu"})
    shown = explain(task, workflow_of(task), settings, Router(RoutingConfig()))
    assert shown.decision.labels == {"zone": "${zone}"}, "without a run it is not known"


RULE = RoutingRule("**::step", "gpu", labels={"zone": "a"})
TO_WORKERS = RoutingRule("**", "workers", labels={"zone": "a"})


class Case(NamedTuple):
    key: str
    reason: str
    labels: dict[str, str] | None = None
    task: dict[str, Any] | None = None
    workflow: dict[str, Any] | None = None
    rules: tuple[RoutingRule, ...] = ()
    hub: bool = True
    mode: Literal["local", "distributed"] = "local"


PINNED: dict[str, Any] = {"worker_selector": "local"}
LABELLED: dict[str, Any] = {"worker_selector": GPU}
TO_PROCESS = RoutingRule("**", "process")
ON_TASK = "worker_selector local on the task: "
NO_HUB = ", but no hub is configured: default executor"

CASES = [
    # 1: local on the task, else on the workflow; rules among local executors still apply
    Case("default", f"{ON_TASK}default executor", task=PINNED, mode="distributed"),
    Case("default", f"{ON_TASK}default executor", task=PINNED, rules=(RULE,)),
    Case("process", f'{ON_TASK}rule 2 "**" → process', task=PINNED, rules=(RULE, TO_PROCESS)),
    Case("process", f"{ON_TASK}executor=process on the task", task={**PINNED, "executor": "process"}),
    Case("default", "worker_selector local on the workflow: default executor", workflow=PINNED, mode="distributed"),
    Case("workers", "worker_selector {gpu=true} on the task → workers", GPU, task=LABELLED, workflow=PINNED),
    Case("default", f"{ON_TASK}default executor", task=PINNED, workflow=LABELLED),
    # 2: labels beat rules, hints and modes; no hub means local
    Case(
        "workers",
        "worker_selector {gpu=true} on the task → workers",
        GPU,
        task={**LABELLED, "executor": "ray"},
        rules=(RULE,),
    ),
    Case(
        "default",
        f"worker_selector {{gpu=true}} on the task → workers{NO_HUB}",
        task={**LABELLED, "executor": "ray"},
        rules=(RULE,),
        hub=False,
    ),
    Case(
        "workers",
        "worker_selector {gpu=true} on the workflow → workers",
        GPU,
        task={"worker_selector": {}},
        workflow=LABELLED,
    ),
    # 3: a rule beats the hint and the mode, and may add labels
    Case("gpu", 'rule 1 "**::step" → gpu', {"zone": "a"}, task={"executor": "ray"}, rules=(RULE,), mode="distributed"),
    Case("workers", 'rule 1 "**" → workers', {"zone": "a"}, rules=(TO_WORKERS,)),
    Case("default", f'rule 1 "**" → workers{NO_HUB}', rules=(TO_WORKERS,), hub=False),
    Case("default", "default executor", rules=(RoutingRule("other", "gpu"),), hub=False),
    # 4: the hint beats the mode
    Case("ray", "executor=ray on the task", task={"executor": "ray"}, mode="distributed"),
    Case("default", f"executor=workers on the task{NO_HUB}", task={"executor": "workers"}, hub=False),
    # 5 and 6
    Case("workers", "default_execution_mode distributed → workers", mode="distributed"),
    Case("default", "default executor", hub=False, mode="distributed"),
    Case("default", "default executor"),
]


@pytest.mark.parametrize("case", CASES)
def test_the_order_of_the_decision(task_of: Make, workflow_of: Make, case: Case) -> None:
    task = task_of(**(case.task or {}))
    settings = PlacementSettings(
        hub_configured=case.hub, default_execution_mode=case.mode, local_keys=("default", "process")
    )
    router = Router(RoutingConfig("default", case.rules))
    decision = decide(task, workflow_of(task, **(case.workflow or {})), settings, router, "run")
    assert (decision.executor_key, decision.reason, decision.labels) == (case.key, case.reason, case.labels)


ASKED = Resources(cpu=4, gpu=1)
OF_TASK = "; resources cpu=4 gpu=1 of the task"


@pytest.mark.parametrize("case", CASES)
def test_resources_change_no_place_and_no_order_and_their_reason_names_them(
    task_of: Make, workflow_of: Make, case: Case
) -> None:
    task = task_of(**(case.task or {}), resources=ASKED)
    rules = tuple(msgspec.structs.replace(rule, resources={"gpu": 2, "memory": "8GiB"}) for rule in case.rules)
    settings = PlacementSettings(
        hub_configured=case.hub, default_execution_mode=case.mode, local_keys=("default", "process")
    )
    decision = decide(
        task, workflow_of(task, **(case.workflow or {})), settings, Router(RoutingConfig("default", rules)), "run"
    )
    number = re.search(r"rule (\d+)", case.reason)
    if number is None or NO_HUB in case.reason:
        expected, words = ASKED, OF_TASK
    else:
        expected = Resources(cpu=4, gpu=2, memory=8 * 2**30)
        words = f"; resources cpu=4 of the task, gpu=2 memory=8GiB of rule {number[1]}"
    assert (decision.executor_key, decision.labels) == (case.key, case.labels)
    assert (decision.reason, decision.resources) == (case.reason + words, expected)


def test_a_rule_may_ask_for_a_task_that_asks_for_nothing(task_of: Make, workflow_of: Make) -> None:
    router = Router(RoutingConfig("default", (RoutingRule("**", "ray", resources={"gpu": 1}),)))
    shown = explain(task_of(), workflow_of(), PlacementSettings(), router)
    assert shown.decision.resources == Resources(gpu=1)
    assert shown.decision.reason == 'rule 1 "**" → ray; resources gpu=1 of rule 1'
    assert shown.text().startswith("public::embedded::flow::step → ray gpu=1\n")


def test_a_rule_with_wrong_resources_is_refused() -> None:
    with pytest.raises(InvalidRouting, match=r'resources of rule "\*\*" → ray: gpu is -1: write a number') as caught:
        RoutingRule("**", "ray", resources={"gpu": -1})
    assert caught.value.code == "bad_resources"


@pytest.mark.parametrize(
    ("task", "workflow", "rules"), [(LABELLED, {}, ()), ({}, LABELLED, ()), ({}, {}, (TO_WORKERS,))]
)
def test_strict_selectors_refuse_labels_without_a_hub(
    task_of: Make, workflow_of: Make, task: Any, workflow: Any, rules: tuple[RoutingRule, ...]
) -> None:
    labelled = task_of(**task)
    flow, router = workflow_of(labelled, **workflow), Router(RoutingConfig("default", rules))
    strict = PlacementSettings(strict_selectors=True)
    refused = decide(labelled, flow, strict, router)
    assert refused.executor_key == "workers" and "but no hub is configured, and strict_selectors" in refused.reason
    with pytest.raises(HubUnavailable, match=r'task "a::step" goes to workers .*configure a hub') as caught:
        require_hub(refused, strict, "a::step")
    assert caught.value.code == "selector_without_hub" and not lacks_hub(refused)
    assert lacks_hub(decide(labelled, flow, PlacementSettings(), router)), "by default it runs locally and says why"
    with_hub = PlacementSettings(strict_selectors=True, hub_configured=True)
    assert decide(labelled, flow, with_hub, router).executor_key == "workers"


def test_strict_selectors_leave_alone_what_asks_for_no_labels(task_of: Make, workflow_of: Make) -> None:
    strict = PlacementSettings(strict_selectors=True, default_execution_mode="distributed")
    for options in ({}, {"worker_selector": "local"}, {"worker_selector": {}}, {"executor": "workers"}):
        task = task_of(**options)
        assert decide(task, workflow_of(task), strict, Router(RoutingConfig())).executor_key == "default"


def test_a_percent_is_named_in_the_reason(task_of: Make, workflow_of: Make) -> None:
    router = Router(RoutingConfig("default", (RoutingRule("**", "gpu", percent=100),)))
    assert (
        decide(task_of(), workflow_of(), PlacementSettings(), router, "r").reason == 'rule 1 "**" (100 % of runs) → gpu'
    )


def test_local_without_a_local_default_takes_the_first_local_executor(task_of: Make, workflow_of: Make) -> None:
    settings = PlacementSettings(local_keys=("thread", "process"))
    task = task_of(worker_selector="local")
    assert decide(task, workflow_of(task), settings, Router(RoutingConfig("ray"))).executor_key == "thread"


def test_local_without_any_local_executor_is_an_error(task_of: Make, workflow_of: Make) -> None:
    task = task_of(worker_selector="local")
    with pytest.raises(NoExecutor):
        decide(task, workflow_of(task), PlacementSettings(local_keys=()), Router(RoutingConfig("ray")))


def test_a_hub_that_is_down_changes_no_decision_but_refuses_submissions(task_of: Make, workflow_of: Make) -> None:
    settings = PlacementSettings(hub_configured=True, hub_up=False, default_execution_mode="distributed")
    decision = decide(task_of(), workflow_of(), settings, Router(RoutingConfig()))
    assert decision.executor_key == "workers"
    with pytest.raises(HubUnavailable):
        require_hub(decision, settings)
    require_hub(decision, PlacementSettings(hub_configured=True))


selectors = st.sampled_from([None, "local", {}, GPU])
rules = st.builds(
    RoutingRule,
    pattern=st.sampled_from(["**", "**::step", "other"]),
    executor=st.sampled_from(["gpu", "process", "workers"]),
    percent=st.sampled_from([None, 0, 50, 100]),
    shadow=st.booleans(),
)


@given(
    on_task=selectors,
    on_workflow=selectors,
    hint=st.sampled_from([None, "process", "ray", "workers"]),
    chain=st.lists(rules, max_size=4),
    hub=st.booleans(),
    mode=st.sampled_from(["local", "distributed"]),
    run_id=st.sampled_from(["a", "b", "c", None]),
)
def test_explain_agrees_with_decide_and_workers_needs_a_hub(
    on_task: Any, on_workflow: Any, hint: str | None, chain: list[RoutingRule], hub: bool, mode: Any, run_id: str | None
) -> None:
    task = TaskSpec("step", Body("python", "m:f"), full_name="a::step", worker_selector=on_task, executor=hint)
    workflow = WorkflowSpec("flow", (task,), worker_selector=on_workflow)
    settings = PlacementSettings(hub_configured=hub, default_execution_mode=mode, local_keys=("default", "process"))
    router = Router(RoutingConfig("default", tuple(chain)))
    decision = decide(task, workflow, settings, router, run_id)
    trace = explain(task, workflow, settings, router, run_id)
    assert trace.decision == decision
    assert [step.why for step in trace.steps if step.outcome == "chosen"] == [decision.reason]
    assert hub or decision.executor_key != "workers"
    without = tuple(rule for rule in chain if not rule.shadow)
    if without == tuple(chain):
        return
    unshadowed = decide(task, workflow, settings, Router(RoutingConfig("default", without)), run_id)
    assert unshadowed.executor_key == decision.executor_key


def test_the_trace_reads_as_text(task_of: Make, workflow_of: Make) -> None:
    rules = (RoutingRule("other", "x"), RoutingRule("**", "y", shadow=True), RoutingRule("**", "gpu", {"zone": "a"}))
    text = explain(task_of(), workflow_of(), PlacementSettings(), Router(RoutingConfig("default", rules)), "run").text()
    assert text.splitlines() == [
        "public::embedded::flow::step → gpu {zone=a}",
        "  · 1. worker_selector local: neither task nor workflow says it",
        "  · 2. worker_selector labels: neither task nor workflow has any",
        '  ✔ 3. routing rules: rule 3 "**" → gpu',
        '       rule 1 "other" → x: does not match',
        '       rule 2 "**" → y: matches, adds a shadow copy',
        '       rule 3 "**" → gpu: matches',
        "    4. the task's executor: not reached",
        "    5. default_execution_mode: not reached",
        "    6. default executor: not reached",
    ]


KINDS = {"default": frozenset({"python"}), "shell": frozenset({"shell"}), "both": frozenset({"python", "shell"})}


@pytest.mark.parametrize(
    ("kind", "default", "selector", "expected"),
    [
        ("shell", "default", None, ("shell", "default executor of shell bodies")),
        ("shell", "both", None, ("both", "default executor")),
        ("python", "default", None, ("default", "default executor")),
        ("shell", "default", "local", ("shell", "worker_selector local on the task: default executor of shell bodies")),
    ],
)
def test_a_shell_body_that_nobody_says_anything_about_goes_where_it_can_run(
    task_of: Make, workflow_of: Make, kind: str, default: str, selector: Any, expected: tuple[str, str]
) -> None:
    task = task_of(kind=kind, worker_selector=selector)
    settings = PlacementSettings(local_keys=tuple(KINDS), kinds=KINDS)
    decision = decide(task, workflow_of(task), settings, Router(RoutingConfig(default)))
    assert (decision.executor_key, decision.reason) == expected


def test_without_an_executor_for_commands_the_default_stands_and_is_refused_by_the_checks(
    task_of: Make, workflow_of: Make
) -> None:
    task = task_of(kind="shell")
    settings = PlacementSettings(kinds={"default": frozenset({"python"})})
    assert decide(task, workflow_of(task), settings, Router(RoutingConfig())).executor_key == "default"


def test_a_handler_goes_to_the_workers_if_there_is_a_hub(task_of: Make, workflow_of: Make) -> None:
    kinds = {"default": frozenset({"python"})}
    settings = PlacementSettings(hub_configured=True, kinds=kinds)
    task = task_of(kind="handler")
    decision = decide(task, workflow_of(task), settings, Router(RoutingConfig()))
    assert (decision.executor_key, decision.reason) == ("workers", "default executor of handlers")
    without = decide(task, workflow_of(task), PlacementSettings(kinds=kinds), Router(RoutingConfig()))
    assert without.executor_key == "default"


def test_a_handler_goes_to_the_only_executor_that_runs_handlers_if_there_is_no_hub(
    task_of: Make, workflow_of: Make
) -> None:
    kinds = {"default": frozenset({"python"}), "zmq_pubsub": frozenset({"handler"})}
    task, routing = task_of(kind="handler"), Router(RoutingConfig())
    alone = decide(task, workflow_of(task), PlacementSettings(kinds=kinds), routing)
    assert (alone.executor_key, alone.reason) == ("zmq_pubsub", "the only executor of handlers")
    with_hub = decide(task, workflow_of(task), PlacementSettings(kinds=kinds, hub_configured=True), routing)
    assert with_hub.executor_key == "workers"
    two = PlacementSettings(kinds=kinds | {"other": frozenset({"handler"})})
    assert decide(task, workflow_of(task), two, routing).executor_key == "default", "who of the two is not said"


def test_an_explanation_calls_the_mode_what_the_configuration_calls_it() -> None:
    settings = PlacementSettings(
        default_execution_mode="distributed", hub_configured=True, mode_name="defaultExecutionMode"
    )
    task = TaskSpec("step", Body("python", "m:f"), full_name="p::e::w::step")
    found = explain(task, WorkflowSpec("w", (task,)), settings, Router(RoutingConfig()))
    assert found.decision.reason == "defaultExecutionMode distributed → workers"
    assert [step.considered for step in found.steps][4] == "defaultExecutionMode"


# -- definitions that may run on workers only --------------------------------------------------------------------------
@pytest.mark.parametrize("hub", [True, False])
@pytest.mark.parametrize("selector", [None, "local", GPU])
@pytest.mark.parametrize("said_by", ["task", "workflow"])
@pytest.mark.parametrize("kind", ["shell", "python"])
def test_a_task_of_a_remote_only_workflow_goes_to_workers_whatever_else_is_said(
    task_of: Make, workflow_of: Make, hub: bool, selector: Any, said_by: str, kind: Any
) -> None:
    task = task_of(kind=kind, worker_selector=selector if said_by == "task" else None, executor="default")
    workflow = workflow_of(task, worker_selector=selector if said_by == "workflow" else None, remote_only=True)
    router = Router(RoutingConfig(rules=[RoutingRule("**", "default")]))
    settings = PlacementSettings(hub_configured=hub, kinds={"default": frozenset({"python", "shell"})})
    decision = decide(task, workflow, settings, router, "run")
    assert decision.executor_key == "workers" and not lacks_hub(decision)
    assert decision.labels == (GPU if selector == GPU else None)
    assert decision.reason.startswith("the definition may run on workers only")
    trace = explain(task, workflow, settings, router, "run")
    assert (
        trace.decision == decision and trace.steps[0].outcome == "chosen" and trace.steps[0].considered == "remote only"
    )
    if hub:
        require_hub(decision, settings, task.full_name)
    else:
        with pytest.raises(HubUnavailable) as raised:
            require_hub(decision, settings, task.full_name)
        assert raised.value.code == "remote_only_without_hub"


@pytest.mark.parametrize(
    ("selector", "hub", "key"),
    [
        (None, False, "shell"),
        ("local", False, "shell"),
        ("local", True, "shell"),
        (None, True, "workers"),
        (GPU, True, "workers"),
        (GPU, False, "shell"),
    ],
)
def test_a_contained_step_of_a_remote_only_workflow_may_run_where_no_worker_is(
    task_of: Make, workflow_of: Make, selector: Any, hub: bool, key: str
) -> None:
    step = StepSpec(actions=(Request(("https://example.com/",)),))
    task = contained(msgspec.structs.replace(task_of(worker_selector=selector), body=Body("shell", "get", step=step)))
    kinds = {"default": frozenset({"python"}), "shell": frozenset({"shell"})}
    settings = PlacementSettings(hub_configured=hub, kinds=kinds, local_keys=("default", "shell"))
    decision = decide(task, workflow_of(task, remote_only=True), settings, Router(RoutingConfig()))
    assert decision.executor_key == key


def test_a_handler_of_a_remote_only_workflow_goes_where_handlers_go(task_of: Make, workflow_of: Make) -> None:
    task = task_of(kind="handler")
    settings = PlacementSettings(kinds={"default": frozenset({"python"}), "pubsub": frozenset({"handler"})})
    decision = decide(task, workflow_of(task, remote_only=True), settings, Router(RoutingConfig()))
    assert decision.executor_key == "pubsub"


def test_a_workflow_that_may_run_anywhere_has_no_such_step(task_of: Make, workflow_of: Make) -> None:
    task = task_of()
    trace = explain(task, workflow_of(task), PlacementSettings(), Router(RoutingConfig()))
    assert "remote only" not in [step.considered for step in trace.steps]
