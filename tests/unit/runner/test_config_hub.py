"""The hub in the configuration: as an address or as a table, by either of its names, and what cannot work."""

from __future__ import annotations

from pathlib import Path

import pytest

from turnout.errors import InvalidSetting
from turnout.executors.workers.settings import HubSettings
from turnout.runner.config import read_config
from turnout.runner.effective_settings import EffectiveSetting, effective_settings
from turnout.runner.settings import configuration, runner_config


def hub_of(folder: Path, text: str = "", name: str = "turnout.toml", **environment: str) -> HubSettings | None:
    (folder / name).write_text(text)
    return read_config(folder, environment).hub


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("turnout.toml", 'hub = "tcp://127.0.0.1:7000"'),
        ("turnout.toml", '[hub]\naddress = "tcp://127.0.0.1:7000"'),
        ("turnout.toml", "[hub]\nport = 7000"),
        ("turnout.yaml", "hub: tcp://127.0.0.1:7000"),
        ("turnout.yaml", "coordinator: tcp://127.0.0.1:7000"),
        ("turnout.yaml", "coordinator:\n  host: 127.0.0.1\n  port: 7000"),
    ],
)
def test_a_hub_is_an_address_or_a_table(tmp_path: Path, name: str, text: str) -> None:
    assert hub_of(tmp_path, text, name) == HubSettings(address="tcp://127.0.0.1:7000")


def test_nothing_said_is_no_hub(tmp_path: Path) -> None:
    assert hub_of(tmp_path) is None
    assert runner_config(read_config(tmp_path, {})).hub is None


def test_every_setting_of_a_hub_can_be_said_and_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    text = """
[hub]
address = "tcp://0.0.0.0:5890"
keyFile = "hub.key"
workers_file = "workers.toml"
heartbeat = "1s"
lease = "3s"
batch = 10
trace_wire = true
"""
    assert hub_of(tmp_path, text) == HubSettings(
        address="tcp://0.0.0.0:5890",
        key_file=str(tmp_path / "hub.key"),
        workers_file=str(tmp_path / "workers.toml"),
        heartbeat=1,
        lease=3,
        batch=10,
        trace_wire=True,
    )


def test_the_environment_goes_over_the_file_key_by_key(tmp_path: Path) -> None:
    text = "[hub]\naddress = 'tcp://127.0.0.1:7000'\nlease = '20s'"
    said = {"TURNOUT_HUB": "tcp://127.0.0.1:7001", "TURNOUT_HUB__HEARTBEAT": "2s"}
    assert hub_of(tmp_path, text, **said) == HubSettings(address="tcp://127.0.0.1:7001", lease=20, heartbeat=2)
    only = hub_of(tmp_path, TURNOUT_COORDINATOR__PORT="7002")
    assert only is not None and only.address == "tcp://127.0.0.1:7002"


def test_an_argument_replaces_the_address_and_settings_replace_everything(tmp_path: Path) -> None:
    (tmp_path / "turnout.toml").write_text("[hub]\nport = 7000\nlease = '20s'")
    config = read_config(tmp_path, {})
    assert runner_config(config, hub="tcp://127.0.0.1:0").hub == HubSettings(address="tcp://127.0.0.1:0", lease=20)
    assert runner_config(config, hub=HubSettings()).hub == HubSettings()
    without = runner_config(config, hub=False)
    assert without.hub == HubSettings(address="tcp://127.0.0.1:7000", lease=20) and not without.listens


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("hub = 3", "bad_setting", "turnout.toml: hub is 3; it is a table"),
        ("hub = 'here'", "bad_setting", "turnout.toml: hub.address is 'here'; write tcp://127.0.0.1:5890"),
        ("hub = 'tcp://127.0.0.1'", "bad_setting", "hub.address is 'tcp://127.0.0.1'"),
        ("hub = 'tcp://[::1'", "bad_setting", "hub.address is 'tcp://[::1'"),
        ("[hub]\nadress = 'x'", "unknown_setting", "there is no setting 'hub.adress': did you mean 'address'?"),
        ("[hub]\nlease = '6s'", "bad_setting", "hub.lease is 6.0; it must be at least twice heartbeat, 5.0 (hea"),
        ("[hub]\nheartbeat = 0", "bad_setting", "hub.heartbeat is 0; it must be a positive number"),
        ("[hub]\nbatch = 0", "bad_setting", "hub.batch is 0; it must be a number from 1 to"),
        ("[hub]\nhost = '127.0.0.1'\naddress = 'ipc:///a'", "bad_setting", "hub.host is another way to give hub.ad"),
        ("hub = 'tcp://0.0.0.0:5890'", "hub_without_keys", "turnout.toml: hub.address is 'tcp://0.0.0.0:5890', which"),
        ("[coordinator]\nhost = '0.0.0.0'", "hub_without_keys", "turnout.toml: hub.address is 'tcp://0.0.0.0:5890'"),
        ("hub = 'tcp://*:5890'", "hub_without_keys", "`turnout keys generate`"),
        ("hub = 'tcp://127.evil.example:1'", "hub_without_keys", "other machines can reach"),
        ("[hub]\nkey_file = 'hub.key'", "incomplete_keys", "hub.workers_file is not set"),
        ("[hub]\nworkers_file = 'w.toml'", "incomplete_keys", "hub.key_file is not set"),
    ],
)  # fmt: skip
def test_what_cannot_work_is_refused_with_who_said_it(tmp_path: Path, text: str, code: str, said: str) -> None:
    with pytest.raises(InvalidSetting) as raised:
        hub_of(tmp_path, text)
    assert raised.value.code == code
    assert said in raised.value.message and "turnout.toml" in raised.value.message


def test_the_variable_at_fault_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match=r"^TURNOUT_HUB__BATCH: hub\.batch is 'many'; write a whole number"):
        hub_of(tmp_path, TURNOUT_HUB__BATCH="many")
    with pytest.raises(InvalidSetting, match=r"^TURNOUT_HUB: hub\.address is 'x'"):
        hub_of(tmp_path, TURNOUT_HUB="x")
    with pytest.raises(InvalidSetting, match="TURNOUT_HUB__LEESE"):
        hub_of(tmp_path, TURNOUT_HUB__LEESE="1")


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:0", "tcp://127.1.2.3:*", "tcp://[::1]:7000", "tcp://localhost:1", "ipc:///run/hub"]
)
def test_this_machine_alone_needs_no_keys(address: str) -> None:
    settings = HubSettings(address=address)
    settings.check()
    assert settings.loopback


def test_config_show_has_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert EffectiveSetting("hub.address", "hub.address", None, "default") in effective_settings(configuration())
    (tmp_path / "turnout.toml").write_text("[hub]\nlease = '20s'")
    shown = effective_settings(configuration())
    assert EffectiveSetting("hub.address", "hub.address", "tcp://127.0.0.1:5890", "default") in shown
    assert EffectiveSetting("hub.lease", "hub.lease", 20, "turnout.toml") in shown
    assert EffectiveSetting("hub.batch", "hub.batch", 100, "default") in shown


def test_config_show_spells_keys_as_they_were_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "turnout.yaml").write_text(
        "defaultExecutionMode: distributed\ncoordinator: {maxMessageBytes: 100000}\n"
    )
    shown = {each.key: each.spelling for each in effective_settings(configuration())}
    assert shown["default_execution_mode"] == "defaultExecutionMode"
    assert shown["hub.max_message_bytes"] == "coordinator.maxMessageBytes" and shown["hub.address"] == "hub.address"


def test_a_wrong_value_is_named_as_it_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "turnout.yaml").write_text("defaultExecutionMode: remote\n")
    with pytest.raises(InvalidSetting, match=r"turnout.yaml: defaultExecutionMode is 'remote'"):
        effective_settings(configuration())
