"""The table ``step_execution``: read as it is written, checked, and made an executor."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from turnout import remote, workflow
from turnout.authoring.registry import Registry
from turnout.dispatcher import RoutingConfig, RoutingRule
from turnout.errors import InvalidRouting, InvalidSetting
from turnout.executors.pubsub.executor import ZmqPubSubExecutor
from turnout.executors.pubsub.settings import PubSubSettings
from turnout.runner.composition import make_dispatcher
from turnout.runner.config import Config, read_config
from turnout.runner.settings import runner_config

AS_WRITTEN = """
step_execution:
  rust_step_publisher: "ipc:///tmp/tasker_steps.sock"
  rust_result_subscriber: "ipc:///tmp/tasker_results.sock"
  handler_step_subscriber: "ipc:///tmp/tasker_steps.sock"
  handler_result_publisher: "ipc:///tmp/tasker_results.sock"

  batch_size: 20
  result_timeout_ms: 60000
  handler_poll_interval_ms: 2
  step_queue_hwm: 500
  result_queue_hwm: 600
"""


def config_of(folder: Path, text: str, environment: Mapping[str, str] | None = None) -> Config:
    (folder / "turnout.yaml").write_text(text)
    return read_config(folder, environment or {})


def message(folder: Path, text: str, environment: Mapping[str, str] | None = None) -> str:
    with pytest.raises(InvalidSetting) as raised:
        runner_config(config_of(folder, text, environment))
    return raised.value.message


def test_the_keys_are_read_as_they_are_written_and_make_an_executor(tmp_path: Path) -> None:
    made = runner_config(config_of(tmp_path, AS_WRITTEN)).executors["zmq_pubsub"]
    assert isinstance(made, ZmqPubSubExecutor)
    assert made.settings == PubSubSettings(
        rust_step_publisher="ipc:///tmp/tasker_steps.sock",
        rust_result_subscriber="ipc:///tmp/tasker_results.sock",
        handler_step_subscriber="ipc:///tmp/tasker_steps.sock",
        handler_result_publisher="ipc:///tmp/tasker_results.sock",
        batch_size=20,
        result_timeout_ms=60_000,
        handler_poll_interval_ms=2,
        step_queue_hwm=500,
        result_queue_hwm=600,
    )


def test_without_the_table_there_is_no_such_executor(tmp_path: Path) -> None:
    assert "zmq_pubsub" not in runner_config(config_of(tmp_path, "tenant: acme\n")).executors


def test_the_environment_goes_over_the_file(tmp_path: Path) -> None:
    environment = {"TURNOUT_STEP_EXECUTION__BATCH_SIZE": "3", "TURNOUT_STEP_EXECUTION__BIND_RESULTS": "true"}
    settings = config_of(tmp_path, AS_WRITTEN, environment).step_execution
    assert settings is not None and (settings.batch_size, settings.bind_results) == (3, True)
    assert settings.step_queue_hwm == 500


def test_an_executor_that_is_given_goes_over_the_table(tmp_path: Path) -> None:
    given = ZmqPubSubExecutor()
    assert runner_config(config_of(tmp_path, AS_WRITTEN), executors={"zmq_pubsub": given}).executors == {
        "zmq_pubsub": given
    }


def test_the_table_and_an_executor_of_the_same_key_are_one_too_many(tmp_path: Path) -> None:
    text = f"{AS_WRITTEN}\nexecutors: {{zmq_pubsub: {{use: zmq_pubsub}}}}\n"
    assert "executors.zmq_pubsub and step_execution both make the executor 'zmq_pubsub'" in message(tmp_path, text)


def test_a_table_of_executors_may_use_it_under_any_name(tmp_path: Path) -> None:
    text = "executors: {rails: {use: zmq_pubsub, batch_size: 5, rust_step_publisher: 'tcp://127.0.0.1:*'}}"
    made = runner_config(config_of(tmp_path, text)).executors["rails"]
    assert isinstance(made, ZmqPubSubExecutor)
    assert (made.name, made.settings.batch_size) == ("rails", 5)
    assert made.settings.rust_step_publisher == "tcp://127.0.0.1:*"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("batch_size: 0", "turnout.yaml: step_execution.batch_size is 0; it must be at least 1"),
        ("batch_size: many", "step_execution.batch_size is 'many'; write a whole number"),
        ("step_queue_hwm: 0", "step_execution.step_queue_hwm is 0; it must be at least 1"),
        ("result_timeout_ms: -1", "step_execution.result_timeout_ms is -1; it must be at least 1"),
        ("batchsize: 3", "there is no setting 'step_execution.batchsize': did you mean 'batch_size'?"),
        ("rust_step_publisher: steps", "write inproc://name, ipc:///path/to/socket or tcp://127.0.0.1:5555"),
        ("rust_step_publisher: 'tcp://*:5555'", "for handlers on other machines use workers and a hub"),
        ("rust_step_publisher: 'tcp://0.0.0.0:5555'", "which is not this machine alone"),
        ("rust_step_publisher: 'tcp://[::]:5555'", "which is not this machine alone"),
        ("rust_step_publisher: 'tcp://eth0:5555'", "which is not this machine alone"),
        ("rust_step_publisher: 'tcp://[127.0.0.1:5555'", "write inproc://name, ipc:///path/to/socket or tcp://"),
        ("rust_result_subscriber: 'tcp://10.0.0.1:5555'", "this pattern knows neither keys nor encryption"),
        ("rust_step_publisher: 'tcp://127.0.0.1'", "it needs the number of a port"),
        ("rust_step_publisher: 'tcp://127.0.0.1:99999'", "it needs the number of a port"),
        ("rust_result_subscriber: 'tcp://127.0.0.1:*'", "it needs the number of a port"),
        ("rust_step_publisher: 'inproc://'", "write inproc://name"),
        ("rust_step_publisher: 'inproc://results'", "steps and results need an endpoint each"),
        ("handler_step_subscriber: 'inproc://other'", "handler_step_subscriber is 'inproc://other', but"),
    ],
)
def test_what_cannot_work_is_named_with_what_would_be_right(tmp_path: Path, said: str, expected: str) -> None:
    assert expected in message(tmp_path, f"step_execution:\n  {said}\n")


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("batchsize: 3", "executors.a: there is no option 'batchsize': did you mean 'batch_size'?"),
        ("batch_size: x", "executors.a: batch_size is 'x'; write a whole number"),
        ("batch_size: 0", "executors.a: batch_size is 0; it must be at least 1"),
    ],
)
def test_the_options_of_a_table_of_executors_are_checked_too(tmp_path: Path, option: str, expected: str) -> None:
    assert expected in message(tmp_path, f"executors: {{a: {{use: zmq_pubsub, {option}}}}}")


def test_a_task_that_runs_at_most_once_is_refused_there(tmp_path: Path) -> None:
    pay = remote("pay", handler="Pay", at_most_once=True)

    @workflow
    def payment(x: int) -> int:
        return pay(x=x)

    routing = RoutingConfig("default", (RoutingRule("**", "zmq_pubsub"),))
    dispatcher = make_dispatcher(runner_config(config_of(tmp_path, AS_WRITTEN), routing=routing))
    with pytest.raises(InvalidRouting, match="it runs at most once, and a step that is not answered"):
        dispatcher.validate(Registry().family_of(payment, "public"))
