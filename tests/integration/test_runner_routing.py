"""Where tasks run: rules, hints, shares of runs, shadows, and rules that are replaced while runs go on."""

from __future__ import annotations

import json
import logging
import threading
from typing import Any

import pytest

from turnout import RoutingConfig, RoutingRule, TaskInfo, task, workflow
from turnout.errors import DefinitionError, InvalidRouting
from turnout.executors.thread import ThreadExecutor
from turnout.model.states import RunState

pytestmark = pytest.mark.timeout(60)

DEFAULT = RoutingConfig("default")


def rules(*some: RoutingRule) -> RoutingConfig:
    return RoutingConfig("default", some)


@task
def train(info: TaskInfo) -> str:
    return info.task_name


@task
def report(what: str) -> str:
    return f"trained {what}"


@workflow(package="ml")
def learn() -> str:
    return report(train())


def executors_of(run: Any) -> dict[str, str | None]:
    run.wait(20)
    return {each.name: each.executor for each in run.tasks()}


def test_a_rule_sends_a_task_to_another_executor_and_the_decision_is_kept(make_runner):
    runner = make_runner(
        executors={"gpu": ThreadExecutor(name="gpu")}, routing=rules(RoutingRule("**::ml::*::train", "gpu"))
    )
    run = runner.submit(learn)
    assert run.result(20) == "trained public::ml::learn::train"
    assert executors_of(run) == {"train": "gpu", "report": "default"}
    first, second = run.tasks()
    assert first.decision == 'rule 1 "**::ml::*::train" → gpu'
    assert second.decision == "default executor"
    decided = [json.loads(row.detail) for _, row in run.history() if row.new == "running" and row.pos == 0]
    assert decided == [{"executor": "gpu", "reason": 'rule 1 "**::ml::*::train" → gpu'}]


def test_the_first_rule_that_matches_wins(make_sqlite_runner):
    runner = make_sqlite_runner(
        executors={"a": ThreadExecutor(name="a"), "b": ThreadExecutor(name="b")},
        routing=DEFAULT.with_rule(RoutingRule("**::train", "a")).with_rule(RoutingRule("public::ml::**", "b")),
    )
    assert executors_of(runner.submit(learn)) == {"train": "a", "report": "b"}


def test_a_rule_is_stronger_than_the_tasks_own_hint(make_sqlite_runner):
    @workflow
    def hinted() -> Any:
        return [train.options(executor="a")(), train.options(executor="a").named("other")()]

    runner = make_sqlite_runner(
        executors={"a": ThreadExecutor(name="a"), "b": ThreadExecutor(name="b")},
        routing=rules(RoutingRule("**::other", "b")),
    )
    assert executors_of(runner.submit(hinted)) == {"train": "a", "other": "b"}


def test_the_default_executor_may_be_another(make_sqlite_runner):
    runner = make_sqlite_runner(executors={"a": ThreadExecutor(name="a")}, routing=RoutingConfig("a"))
    assert executors_of(runner.submit(learn)) == {"train": "a", "report": "a"}


def test_explain_tells_the_same_as_what_happens(make_sqlite_runner):
    runner = make_sqlite_runner(
        executors={"gpu": ThreadExecutor(name="gpu")}, routing=rules(RoutingRule("**::train", "gpu"))
    )
    explained = runner.explain(learn)
    assert {name: one.decision.executor_key for name, one in explained.items()} == {"train": "gpu", "report": "default"}
    assert 'rule 1 "**::train" → gpu' in explained["train"].text()
    run = runner.submit(learn)
    run.wait(20)
    assert {each.name: each.decision for each in run.tasks()} == {
        name: one.decision.reason for name, one in explained.items()
    }


# -- rules at run time ----------------------------------------------------------------------------------------------


def test_rules_are_replaced_while_the_runner_works(make_runner, query, store_url):
    runner = make_runner(executors={"gpu": ThreadExecutor(name="gpu")}, routing=DEFAULT)
    assert executors_of(runner.submit(learn)) == {"train": "default", "report": "default"}
    assert runner.set_routing(rules(RoutingRule("**::train", "gpu"))) == []
    assert executors_of(runner.submit(learn)) == {"train": "gpu", "report": "default"}
    runner.set_routing(DEFAULT)
    assert executors_of(runner.submit(learn)) == {"train": "default", "report": "default"}
    recorded = [config for (config,) in query(store_url, "select config from routing order by number")]
    kept = [config if isinstance(config, dict) else json.loads(config) for config in recorded]
    assert [len(config.get("rules", ())) for config in kept] == [0, 1, 0]


def test_rules_of_which_one_cannot_work_are_refused_as_a_whole(make_runner, query, store_url):
    runner = make_runner(executors={"gpu": ThreadExecutor(name="gpu")}, routing=rules(RoutingRule("**::report", "gpu")))
    runner.submit(learn).wait(20)
    with pytest.raises(InvalidRouting) as caught:
        runner.set_routing(rules(RoutingRule("**::train", "gpu"), RoutingRule("**::report", "tpu")))
    assert caught.value.code == "unknown_executor"
    assert '"tpu"' in str(caught.value) and "rule 2" in str(caught.value) and "default, gpu" in str(caught.value)
    assert executors_of(runner.submit(learn)) == {"train": "default", "report": "gpu"}
    assert query(store_url, "select count(*) from routing") == [(1,)]


def test_a_rule_that_matches_nothing_is_a_warning(make_sqlite_runner):
    runner = make_sqlite_runner(workflows=[learn])
    [warning] = runner.set_routing(rules(RoutingRule("**::tarin", "default")))
    assert '"**::tarin"' in warning


def test_a_running_attempt_and_its_retries_keep_their_decision(make_runner, gate):
    @task(retries=1)
    def slow(info: TaskInfo) -> int:
        if info.attempt == 1:
            gate.pass_through()
            raise ValueError("again")
        return info.attempt

    @task
    def after(number: int) -> int:
        return number

    @workflow
    def moving() -> int:
        return after(slow())

    runner = make_runner(executors={"gpu": ThreadExecutor(name="gpu")}, routing=DEFAULT)
    run = runner.submit(moving)
    assert gate.reached()
    runner.set_routing(rules(RoutingRule("**::moving::*", "gpu")))
    gate.open()
    assert run.result(20) == 2
    assert executors_of(run) == {"slow": "default", "after": "gpu"}


def test_a_runner_without_a_dispatcher_has_no_rules_to_replace(make_sqlite_runner):
    with pytest.raises(DefinitionError) as caught:
        make_sqlite_runner(dispatcher=None).set_routing(DEFAULT)
    assert caught.value.code == "no_dispatcher"


# -- shares of runs -------------------------------------------------------------------------------------------------


def test_a_rule_for_a_share_of_runs_takes_that_share_and_all_of_a_run_or_nothing(make_sqlite_runner):
    runner = make_sqlite_runner(
        executors={"canary": ThreadExecutor(name="canary")},
        routing=rules(RoutingRule("**::ml::**", "canary", percent=50)),
    )
    taken = [executors_of(run) for run in runner.submit_many(learn, [{}] * 100)]
    assert all(len(set(each.values())) == 1 for each in taken)
    canaries = sum(each["train"] == "canary" for each in taken)
    assert 20 <= canaries <= 80


@pytest.mark.parametrize(("percent", "expected"), [(0, "default"), (100, "canary")])
def test_a_share_of_nothing_or_of_everything_is_just_that(make_sqlite_runner, percent, expected):
    runner = make_sqlite_runner(
        executors={"canary": ThreadExecutor(name="canary")},
        routing=rules(RoutingRule("**::ml::**", "canary", percent=percent)),
    )
    taken = {executors_of(run)["train"] for run in runner.submit_many(learn, [{}] * 20)}
    assert taken == {expected}


# -- shadows --------------------------------------------------------------------------------------------------------


class Compared(logging.Handler):
    """Collects what the comparison of shadows logs."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []
        self.some = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())
        self.some.set()


@pytest.fixture
def compared() -> Any:
    handler, logger = Compared(), logging.getLogger("turnout.shadow")
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)


SHADOW = rules(RoutingRule("**::shadowed::*", "copy", shadow=True))


def test_a_shadow_is_compared_and_its_result_is_never_used(make_runner, compared):
    infos: dict[bool, TaskInfo] = {}

    @task
    def answer(info: TaskInfo) -> str:
        infos[info.shadow] = info
        return "copy" if info.shadow else "real"

    @workflow
    def shadowed() -> str:
        return answer()

    runner = make_runner(executors={"copy": ThreadExecutor(name="copy")}, routing=SHADOW)
    run = runner.submit(shadowed)
    assert run.result(20) == "real"
    assert compared.some.wait(20)
    [said] = compared.said
    assert "differs" in said and "real" in said and "copy" in said
    [seen] = run.tasks()
    assert (seen.executor, seen.attempt) == ("default", 1)
    assert infos[True].attempt == infos[False].attempt == 1
    assert infos[True].idempotency_key != infos[False].idempotency_key


def test_a_shadow_that_agrees_says_nothing(make_sqlite_runner, compared, until):
    @task
    def answer(info: TaskInfo) -> str:
        return "same"

    @workflow
    def shadowed() -> str:
        return answer()

    runner = make_sqlite_runner(executors={"copy": ThreadExecutor(name="copy")}, routing=SHADOW)
    assert runner.run(shadowed) == "same"
    until(lambda: runner._core.engine.shadows.metrics.same == 1)
    assert compared.said == []


def test_a_shadow_that_fails_or_hangs_changes_nothing(make_runner, gate, compared):
    @task
    def answer(number: int, info: TaskInfo) -> str:
        if info.shadow:
            if number == 1:
                raise ValueError("only the copy")
            gate.pass_through()
        return "real"

    @workflow
    def shadowed() -> Any:
        return [answer(1), answer(2)]

    runner = make_runner(executors={"copy": ThreadExecutor(name="copy")}, routing=SHADOW)
    run = runner.submit(shadowed)
    assert run.result(20) == ["real", "real"]
    assert run.status().state is RunState.COMPLETED
    assert compared.some.wait(20)
    assert "retry" in compared.said[0] or "failed" in compared.said[0]


def test_a_shadow_without_room_does_not_delay_the_run(make_sqlite_runner, make_gate):
    gate = make_gate()

    @task
    def answer(info: TaskInfo) -> int:
        if info.shadow:
            gate.pass_through()
        return 1

    @workflow
    def shadowed() -> int:
        return answer()

    runner = make_sqlite_runner(
        executors={"copy": ThreadExecutor(threads=1, max_backlog=0, name="copy")}, routing=SHADOW
    )
    assert [runner.run(shadowed) for _ in range(5)] == [1] * 5


def test_a_shadow_of_a_task_that_runs_at_most_once_is_refused(make_runner, rows_in, store_url):
    @task(at_most_once=True)
    def pay() -> None: ...

    @workflow
    def shadowed() -> None:
        pay()

    runner = make_runner(executors={"copy": ThreadExecutor(name="copy")}, routing=SHADOW)
    with pytest.raises(InvalidRouting) as caught:
        runner.submit(shadowed)
    assert caught.value.code == "shadow_at_most_once"
    assert "::shadowed::pay" in str(caught.value)
    assert rows_in(store_url)["run"] == 0
    runner.set_routing(DEFAULT)
    assert runner.run(shadowed) is None
    with pytest.raises(InvalidRouting):
        runner.set_routing(SHADOW)
