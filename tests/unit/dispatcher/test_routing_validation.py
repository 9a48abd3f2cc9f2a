"""What is refused at start, and what is only warned about."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from turnout.dispatcher import DefaultDispatcher, InvalidRouting, PlacementSettings, RoutingConfig, RoutingRule

Make = Callable[..., Any]
STEP = "public::embedded::flow::step"


def dispatcher_with(executors: dict[str, Any], *rules: RoutingRule, **settings: Any) -> DefaultDispatcher:
    dispatcher = DefaultDispatcher(RoutingConfig("default", rules), PlacementSettings(**settings))
    for key, each in executors.items():
        dispatcher.register_executor(key, each)
    return dispatcher


def refused(dispatcher: DefaultDispatcher, *workflows: Any) -> InvalidRouting:
    with pytest.raises(InvalidRouting) as caught:
        dispatcher.validate(workflows)
    return caught.value


def test_an_unknown_executor_in_a_rule_is_named_with_the_rule_and_the_known_keys(executor: Make) -> None:
    error = refused(dispatcher_with({"default": executor(), "ray": executor()}, RoutingRule("**::ml::*", "gpu")))
    assert error.code == "unknown_executor"
    assert error.message == 'rule 1 "**::ml::*" names executor "gpu", which is not registered; known are default, ray'
    assert error.fields == {"executor": "gpu", "known": ["default", "ray"], "rule": 1, "pattern": "**::ml::*"}


def test_an_unknown_default_executor_is_refused(executor: Make) -> None:
    assert refused(dispatcher_with({"other": executor()})).code == "unknown_executor"


def test_an_unknown_executor_on_a_task_is_refused_even_if_a_rule_hides_it(
    executor: Make, task_of: Make, workflow_of: Make
) -> None:
    dispatcher = dispatcher_with({"default": executor()}, RoutingRule("**", "default"))
    error = refused(dispatcher, workflow_of(task_of(executor="gpu")))
    assert error.code == "unknown_executor"
    assert STEP in error.message


@pytest.mark.parametrize("percent", [None, 10, 100])
def test_a_rule_that_can_send_a_body_to_an_executor_that_cannot_run_it_is_refused(
    executor: Make, task_of: Make, workflow_of: Make, percent: float | None
) -> None:
    executors = {"default": executor(kinds=frozenset({"python", "shell"})), "gpu": executor()}
    dispatcher = dispatcher_with(executors, RoutingRule("**", "gpu", percent=percent))
    error = refused(dispatcher, workflow_of(task_of(kind="shell")))
    assert error.code == "unsupported_body"
    assert "shell" in error.message and '"gpu"' in error.message and 'rule 1 "**"' in error.message


def test_a_body_that_the_default_cannot_run_is_refused_behind_a_share_of_runs(
    executor: Make, task_of: Make, workflow_of: Make
) -> None:
    executors = {"default": executor(), "sh": executor(kinds=frozenset({"shell"}))}
    flow = workflow_of(task_of(kind="shell"))
    assert refused(dispatcher_with(executors, RoutingRule("**", "sh", percent=50)), flow).code == "unsupported_body"
    assert dispatcher_with(executors, RoutingRule("**", "sh")).validate([flow]) == []


def test_a_rule_behind_one_that_always_applies_sends_nothing_anywhere(
    executor: Make, task_of: Make, workflow_of: Make
) -> None:
    executors = {"default": executor(), "sh": executor(kinds=frozenset({"shell"}))}
    dispatcher = dispatcher_with(executors, RoutingRule("**", "default"), RoutingRule("**", "sh"))
    assert dispatcher.validate([workflow_of(task_of())]) == []


def test_a_shadow_for_a_task_that_runs_at_most_once_is_refused(
    executor: Make, task_of: Make, workflow_of: Make
) -> None:
    dispatcher = dispatcher_with({"default": executor(), "new": executor()}, RoutingRule("**", "new", shadow=True))
    assert refused(dispatcher, workflow_of(task_of(at_most_once=True))).code == "shadow_at_most_once"
    assert dispatcher.validate([workflow_of(task_of())]) == []


def test_a_shadow_that_cannot_run_the_body_is_refused(executor: Make, task_of: Make, workflow_of: Make) -> None:
    executors = {"default": executor(kinds=frozenset({"shell"})), "new": executor()}
    dispatcher = dispatcher_with(executors, RoutingRule("**", "new", shadow=True))
    assert refused(dispatcher, workflow_of(task_of(kind="shell"))).code == "unsupported_body"


def test_a_rule_that_matches_no_known_task_is_a_warning_and_logged_once(
    executor: Make, workflow_of: Make, caplog: pytest.LogCaptureFixture
) -> None:
    dispatcher = dispatcher_with({"default": executor()}, RoutingRule("*::ml::*", "default"))
    assert dispatcher.validate() == [], "nothing is known yet, so nothing is missing"
    with caplog.at_level(logging.WARNING, "turnout.dispatcher"):
        (warning,) = dispatcher.validate([workflow_of()])
        dispatcher.validate([workflow_of()])
    assert 'rule 1 "*::ml::*" matches no known task' in warning
    assert len(caplog.records) == 1


def test_workers_without_a_hub_is_a_warning(executor: Make, task_of: Make, workflow_of: Make) -> None:
    dispatcher = dispatcher_with({"default": executor()}, RoutingRule("**", "workers"))
    (warning,) = dispatcher.validate([workflow_of()])
    assert "no hub is configured" in warning
    assert dispatcher.decide(task_of(), workflow_of(), "run").executor_key == "default"


def test_workers_with_a_hub_but_no_executor_is_refused(executor: Make, task_of: Make, workflow_of: Make) -> None:
    dispatcher = dispatcher_with({"default": executor()}, hub_configured=True)
    error = refused(dispatcher, workflow_of(task_of(worker_selector={"gpu": "true"})))
    assert error.code == "unknown_executor"


def test_a_task_pinned_local_needs_a_local_executor(executor: Make, task_of: Make, workflow_of: Make) -> None:
    dispatcher = dispatcher_with({"default": executor(local=False)})
    assert refused(dispatcher, workflow_of(task_of(worker_selector="local"))).code == "no_local_executor"


def test_a_key_that_pollers_serve_is_known(executor: Make, workflow_of: Make) -> None:
    dispatcher = dispatcher_with({"default": executor()}, RoutingRule("**", "poll"), polled_keys=frozenset({"poll"}))
    assert dispatcher.validate([workflow_of()]) == []
    assert not dispatcher.reserve("poll")


def test_rules_are_replaced_only_if_they_can_work(executor: Make, task_of: Make, workflow_of: Make) -> None:
    dispatcher = dispatcher_with({"default": executor(), "gpu": executor()})
    flow = workflow_of(task_of(kind="python"))
    dispatcher.validate([flow])
    before = dispatcher.routing
    with pytest.raises(InvalidRouting):
        dispatcher.set_routing(RoutingConfig("default", (RoutingRule("**", "gpu"), RoutingRule("**", "nowhere"))))
    assert dispatcher.routing is before
    assert dispatcher.resolve_executor_key(STEP) == "default"
    dispatcher.set_routing(RoutingConfig("default", (RoutingRule("**", "gpu"),)))
    assert dispatcher.resolve_executor_key(STEP) == "gpu"


def test_new_rules_are_checked_against_workflows_named_before(executor: Make, task_of: Make, workflow_of: Make) -> None:
    dispatcher = dispatcher_with({"default": executor(kinds=frozenset({"shell"})), "gpu": executor()})
    dispatcher.validate([workflow_of(task_of(kind="shell"))])
    with pytest.raises(InvalidRouting) as caught:
        dispatcher.set_routing(RoutingConfig("default", (RoutingRule("**", "gpu"),)))
    assert caught.value.code == "unsupported_body"


def test_a_refused_workflow_is_not_remembered(executor: Make, task_of: Make, workflow_of: Make) -> None:
    dispatcher = dispatcher_with({"default": executor()})
    refused(dispatcher, workflow_of(task_of(kind="shell")))
    assert dispatcher.validate() == []


@pytest.mark.parametrize("key", ["", "a b", "a::b"])
def test_a_key_is_an_identifier(executor: Make, key: str) -> None:
    with pytest.raises(InvalidRouting) as caught:
        DefaultDispatcher().register_executor(key, executor())
    assert caught.value.code == "bad_identifier"


def test_a_key_is_registered_once(executor: Make) -> None:
    dispatcher = dispatcher_with({"default": executor()})
    with pytest.raises(InvalidRouting) as caught:
        dispatcher.register_executor("default", executor())
    assert caught.value.code == "duplicate_executor"


def test_what_lacks_members_is_no_executor() -> None:
    class Half:
        local = True

        async def execute(self, event: object) -> None: ...

    with pytest.raises(InvalidRouting) as caught:
        DefaultDispatcher().register_executor("half", Half())  # pyright: ignore[reportArgumentType]
    assert caught.value.code == "not_an_executor"
    assert caught.value.fields["missing"] == ["name", "kinds", "bind", "has_capacity", "metrics"]


def test_a_shadow_goes_to_the_first_other_executor_that_can_take_the_task(
    executor: Make, task_of: Make, workflow_of: Make
) -> None:
    executors = {"default": executor(), "far": executor(local=False), "new": executor()}
    rules = tuple(RoutingRule("**", key, shadow=True) for key in ("default", "far", "new"))
    dispatcher = dispatcher_with(executors, *rules)

    def shadow(**options: object) -> str | None:
        found = dispatcher.shadow(task_of(**options), workflow_of(), "run")
        return None if found is None else found.executor_key

    assert shadow() == "far"
    assert shadow(worker_selector="local") == "new"
    assert shadow(at_most_once=True) is None
    assert shadow(kind="shell") is None
    assert dispatcher_with(executors).shadow(task_of(), workflow_of(), "run") is None


def test_a_shadow_within_one_executor_asks_for_other_labels(executor: Make, task_of: Make, workflow_of: Make) -> None:
    real, same, other = (
        RoutingRule("**", "far", {"lang": "ruby"}),
        RoutingRule("**", "far", {"lang": "ruby"}, shadow=True),
        RoutingRule("**", "far", {"lang": "go"}, shadow=True),
    )
    executors = {"default": executor(), "far": executor(local=False)}
    assert dispatcher_with(executors, real, same).shadow(task_of(), workflow_of(), "run") is None
    found = dispatcher_with(executors, real, same, other).shadow(task_of(), workflow_of(), "run")
    assert found is not None and (found.executor_key, found.labels) == ("far", {"lang": "go"})


def test_a_handler_that_no_executor_runs_is_refused_with_the_way_out(
    executor: Make, task_of: Make, workflow_of: Make
) -> None:
    error = refused(dispatcher_with({"default": executor()}), workflow_of(task_of(kind="handler")))
    assert error.code == "unsupported_body"
    assert "no executor here runs handlers: configure a hub" in error.message


def test_a_handler_may_go_to_whatever_runs_handlers(executor: Make, task_of: Make, workflow_of: Make) -> None:
    executors = {"default": executor(), "mine": executor(kinds=frozenset({"handler"}))}
    assert dispatcher_with(executors, RoutingRule("**", "mine")).validate([workflow_of(task_of(kind="handler"))]) == []
