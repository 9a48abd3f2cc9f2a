"""Decisions that were made are compared with those of other rules."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from turnout.dispatcher.placement import PlacementSettings, decide
from turnout.dispatcher.routing import Router, RoutingConfig, RoutingRule
from turnout.dispatcher.what_if import PastDecision, replay
from turnout.model.events import DispatchDecision
from turnout.model.names import new_run_id
from turnout.model.resources import Resources
from turnout.model.spec import Body, TaskSpec, WorkflowSpec

FIT = TaskSpec("fit", Body("python", "m:fit"), "public::ml::train::fit")
SEND = TaskSpec("send", Body("python", "m:send"), "public::ml::train::send", worker_selector={"gpu": "true"})
WORKFLOW = WorkflowSpec("train", (FIT, SEND), package="ml")
LOCAL = PlacementSettings(local_keys=("default", "process"))
HUB = PlacementSettings(local_keys=("default", "process"), hub_configured=True)
PLAIN = Router(RoutingConfig())
PROCESS = Router(RoutingConfig(rules=(RoutingRule("**::fit", "process"),)))


def past(task: TaskSpec, decision: DispatchDecision | None = None, run_id: str | None = None) -> PastDecision:
    run = run_id or new_run_id()
    return PastDecision(run, task, WORKFLOW, decision or decide(task, WORKFLOW, LOCAL, PLAIN, run))


def test_the_same_rules_change_nothing() -> None:
    assert replay([past(FIT), past(SEND)], LOCAL, PLAIN) == []


def test_a_rule_that_sends_a_task_elsewhere_is_a_change_with_its_reason() -> None:
    decisions = [past(FIT), past(SEND)]
    (changed,) = replay(decisions, LOCAL, PROCESS)
    assert changed.past is decisions[0] and changed.now is not None
    assert (changed.now.executor_key, changed.now.reason) == ("process", 'rule 1 "**::fit" → process')


def test_other_labels_are_a_change_and_another_reason_alone_is_none() -> None:
    same = past(FIT, DispatchDecision("default", "as it was explained before"))
    other = past(SEND, DispatchDecision("workers", "", {"gpu": "false"}))
    assert [each.past for each in replay([same, other], HUB, PLAIN)] == [other]


def test_other_resources_are_a_change() -> None:
    same, other = past(FIT), past(FIT, DispatchDecision("default", "", None, Resources(gpu=1)))
    assert [each.past for each in replay([same, other], HUB, PLAIN)] == [other]
    asking = Router(RoutingConfig(rules=(RoutingRule("**::fit", "default", resources={"gpu": 1}),)))
    assert [each.past for each in replay([same, other], HUB, asking)] == [same]


def test_a_task_that_would_be_refused_is_a_change_without_a_decision() -> None:
    remote = PlacementSettings(local_keys=())
    (changed,) = replay([past(SEND)], remote, PLAIN)
    assert changed.now is None and "no local executor is registered" in changed.refusal


def test_labels_take_their_values_from_the_input_of_each_run() -> None:
    task = TaskSpec("fit", Body("python", "m:fit"), "public::ml::train::fit", worker_selector={"zone": "${zone}"})
    decision = DispatchDecision("workers", "", {"zone": "a"})
    same, other = (PastDecision(new_run_id(), task, WORKFLOW, decision, {"zone": zone}) for zone in ("a", "b"))
    assert [each.past for each in replay([same, other], HUB, PLAIN)] == [other]


def test_the_worker_that_a_run_stays_on_is_no_change() -> None:
    task = TaskSpec("fit", Body("python", "m:fit"), "public::ml::train::fit", worker_selector={"zone": "a"})
    decision = DispatchDecision("workers", "", {"zone": "a", "turnout.worker": "w-1"})
    assert replay([PastDecision(new_run_id(), task, WORKFLOW, decision)], HUB, PLAIN) == []


@given(percent=st.floats(0, 100))
def test_rules_for_a_share_of_runs_are_applied_by_run(percent: float) -> None:
    rule = RoutingRule("**::fit", "process", percent=percent)
    decisions = [past(FIT) for _ in range(20)]
    changed = {each.past.run_id for each in replay(decisions, LOCAL, Router(RoutingConfig(rules=(rule,))))}
    assert changed == {each.run_id for each in decisions if rule.applies_to(each.run_id)}
