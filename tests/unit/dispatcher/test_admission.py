"""What a submission is told about where its tasks go, or refused for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from turnout.dispatcher import DefaultDispatcher, HubUnavailable, PlacementSettings, RoutingConfig, RoutingRule
from turnout.dispatcher.admission import Admission
from turnout.dispatcher.placement import NO_HUB
from turnout.errors import ResourcesUnavailable
from turnout.executors.thread import ThreadExecutor
from turnout.model.resources import lacking, parse_resources

Make = Callable[..., Any]
GPU = {"gpu": "true"}


def admission_of(settings: PlacementSettings | None = None, **options: Any) -> Admission:
    other_hub = options.pop("other_hub", None)
    dispatcher = DefaultDispatcher(options.pop("routing", None), settings, **options)
    dispatcher.register_executor("default", ThreadExecutor())
    return Admission(dispatcher, other_hub)


def test_labels_without_a_hub_are_a_warning_for_the_caller(task_of: Make, workflow_of: Make) -> None:
    task, plain = task_of("public::embedded::flow::gpu", worker_selector=GPU), task_of("public::embedded::flow::plain")
    flow = workflow_of(task, plain)
    admission = admission_of()
    (warning,) = admission.check([flow], "run", {})
    assert warning.startswith('task "public::embedded::flow::gpu" runs locally') and NO_HUB in warning
    assert admission.check([flow], "other", {}) == (warning,), "also when it is known already"
    assert admission.check([workflow_of(plain)], "run", {}) == ()


def test_the_tasks_of_called_workflows_count_too(task_of: Make, workflow_of: Make) -> None:
    child = workflow_of(task_of("public::embedded::flow::gpu", worker_selector=GPU), name="child")
    assert len(admission_of().check([workflow_of(task_of("public::embedded::flow::plain")), child], "run", {})) == 1


def test_strict_selectors_make_it_an_error(task_of: Make, workflow_of: Make) -> None:
    flow = workflow_of(task_of("public::embedded::flow::gpu", worker_selector=GPU))
    with pytest.raises(HubUnavailable, match="strict_selectors") as caught:
        admission_of(PlacementSettings(strict_selectors=True)).check([flow], "run", {})
    assert caught.value.code == "selector_without_hub"


def test_a_hub_that_is_not_up_refuses_what_goes_to_workers_and_nothing_else(task_of: Make, workflow_of: Make) -> None:
    admission = admission_of(PlacementSettings(hub_configured=True, hub_up=False))
    with pytest.raises(HubUnavailable, match=r'task "public::embedded::flow::gpu".*the hub is not up') as caught:
        admission.check([workflow_of(task_of("public::embedded::flow::gpu", worker_selector=GPU))], "run", {})
    assert caught.value.code == "hub_unavailable" and caught.value.fields["task"].endswith("::gpu")
    assert admission.check([workflow_of(task_of("public::embedded::flow::plain"))], "run", {}) == ()
    assert (
        admission.check([workflow_of(task_of("public::embedded::flow::gpu", worker_selector="local"))], "run", {}) == ()
    )


def asking(task_of: Make, **resources: Any) -> Any:
    return task_of("public::embedded::flow::fit", resources=parse_resources(resources, "resources"))


def test_resources_that_the_machine_lacks_are_refused_with_what_it_has(task_of: Make, workflow_of: Make) -> None:
    admission = admission_of()
    assert admission.check([workflow_of(asking(task_of, cpu=0.5, memory="1MiB"))], "run", {}) == ()
    with pytest.raises(ResourcesUnavailable) as caught:
        admission.check([workflow_of(asking(task_of, cpu=0.5, gpu=1, license=2))], "run", {})
    assert caught.value.message == (
        'task "public::embedded::flow::fit" can never start in executor "default": it asks for gpu=1 license=2; '
        "this machine has gpu=0 license=0: ask for less, or route the task to an executor that has it"
    )
    assert caught.value.code == "resources_unavailable"
    assert caught.value.fields["resources"] == {"cpu": 0.5, "gpu": 1, "license": 2}


def test_a_cluster_that_grows_is_asked_again(task_of: Make, workflow_of: Make, executor: Make) -> None:
    nodes = [2.0]
    cluster = executor(fits=lambda asked: lacking(asked, {"gpu": max(nodes)}, "the largest node"))
    dispatcher = DefaultDispatcher(RoutingConfig("cluster"))
    dispatcher.register_executor("cluster", cluster)
    admission, flow = Admission(dispatcher), workflow_of(asking(task_of, gpu=4))
    with pytest.raises(ResourcesUnavailable, match="asks for gpu=4; the largest node has gpu=2"):
        admission.check([flow], "run", {})
    nodes.append(4.0)
    assert admission.check([flow], "run", {}) == ()


def test_where_runs_are_only_stored_resources_are_left_to_the_orchestrators(task_of: Make, workflow_of: Make) -> None:
    assert admission_of(other_hub=lambda: False).check([workflow_of(asking(task_of, gpu=1))], "run", {}) == ()


def test_where_runs_are_only_stored_the_hubs_of_others_count(task_of: Make, workflow_of: Make) -> None:
    flow, hubs = workflow_of(task_of("public::embedded::flow::gpu", worker_selector=GPU)), [False]
    without = admission_of(other_hub=lambda: hubs[0])
    assert len(without.check([flow], "run", {})) == 1
    with_hub = admission_of(PlacementSettings(hub_configured=True), other_hub=lambda: hubs[0])
    with pytest.raises(HubUnavailable):
        with_hub.check([flow], "run", {})
    hubs[0] = True
    assert without.check([flow], "run", {}) == with_hub.check([flow], "run", {}) == ()


def test_what_is_known_of_a_workflow_is_dropped_with_rules_and_settings(task_of: Make, workflow_of: Make) -> None:
    dispatcher = DefaultDispatcher()
    dispatcher.register_executor("default", ThreadExecutor())
    admission, flow = Admission(dispatcher), workflow_of(task_of())
    assert admission.check([flow], "run", {}) == ()
    dispatcher.set_routing(RoutingConfig("default", (RoutingRule("**", "workers", labels=GPU),)))
    assert len(admission.check([flow], "run", {})) == 1
    dispatcher.set_settings(strict_selectors=True)
    with pytest.raises(HubUnavailable):
        admission.check([flow], "run", {})


def test_a_rule_for_a_share_of_runs_is_decided_for_each_run(task_of: Make, workflow_of: Make) -> None:
    routing = RoutingConfig("default", (RoutingRule("**", "workers", labels=GPU, percent=50),))
    admission, flow = admission_of(routing=routing), workflow_of(task_of())
    told = {len(admission.check([flow], f"run-{number}", {})) for number in range(40)}
    assert told == {0, 1}
