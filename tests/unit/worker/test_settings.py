"""What a worker is told, by options, variables and the file."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import zmq
import zmq.auth
from curve_keys import new_pair

from turnout.errors import InvalidSetting
from turnout.runner.config import Config, read_config
from turnout.runner.worker_config import handlers_of, worker_settings
from turnout.wire.keys import pair_text
from turnout.worker import WorkerSettings, from_environment
from turnout.worker.settings import CurveKeys, labels_of

KEYS = {
    "TURNOUT_CURVE_SERVER_KEY": "s" * 40,
    "TURNOUT_CURVE_PUBLIC_KEY": "p" * 40,
    "TURNOUT_CURVE_SECRET_KEY": "x" * 40,
}


def test_the_variables_that_every_worker_knows() -> None:
    said = from_environment(
        {
            "TURNOUT_CONNECT": "tcp://a:1, tcp://b:2",
            "TURNOUT_WORKER_NAME": "ada",
            "TURNOUT_WORKER_LABELS": "gpu=true,zone=a",
            "TURNOUT_WORKER_CONCURRENCY": "8",
            **KEYS,
        }
    )
    assert said.connect == ("tcp://a:1", "tcp://b:2") and said.name == "ada" and said.concurrency == 8
    assert said.labels == {"gpu": "true", "zone": "a"} and said.keys == CurveKeys("s" * 40, "p" * 40, "x" * 40)
    assert "x" * 40 not in repr(said)


def test_the_secret_key_does_not_stay_in_the_environment_that_children_get(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    first = from_environment(os.environ)
    assert first.keys is not None and first.keys.secret == "x" * 40
    printed = subprocess.run([sys.executable, "-c", "import os; print(os.environ)"], capture_output=True, check=True)
    assert b"TURNOUT_CURVE_PUBLIC_KEY" in printed.stdout and b"x" * 40 not in printed.stdout
    assert from_environment(os.environ) == first, "the next worker of this process has it, too"
    monkeypatch.setenv("TURNOUT_CURVE_PUBLIC_KEY", "q" * 40)
    with pytest.raises(InvalidSetting, match="secret key is missing"):
        from_environment(os.environ)


def test_the_pair_may_be_in_a_file_that_a_variable_names(tmp_path: Path) -> None:
    pair = new_pair()
    file = tmp_path / "worker.key"
    file.touch(mode=0o600)
    file.write_text(pair_text(pair))
    said = {"TURNOUT_CURVE_SERVER_KEY": "s" * 40, "TURNOUT_CURVE_KEY_FILE": str(file)}
    assert from_environment(said).keys == CurveKeys("s" * 40, pair.public, pair.secret)
    with pytest.raises(InvalidSetting, match="TURNOUT_CURVE_KEY_FILE and TURNOUT_CURVE_PUBLIC_KEY are both there"):
        from_environment({**KEYS, **said})
    with pytest.raises(InvalidSetting, match="server key is missing"):
        from_environment({"TURNOUT_CURVE_KEY_FILE": str(file)})


def test_the_key_of_the_hub_may_come_from_elsewhere_than_the_pair(tmp_path: Path) -> None:
    pair = new_pair()
    file = tmp_path / "worker.key"
    file.touch(mode=0o600)
    file.write_text(pair_text(pair))
    (tmp_path / "turnout.toml").write_text(f'[worker]\nserver_key = "{"c" * 40}"\n')
    config, pairs = read_config(tmp_path, {}), ({"TURNOUT_CURVE_KEY_FILE": str(file)}, dict([*KEYS.items()][1:]))
    for said in pairs:
        own = (pair.public, pair.secret) if "TURNOUT_CURVE_KEY_FILE" in said else ("p" * 40, "x" * 40)
        assert worker_settings(config, said, {}).keys == CurveKeys("c" * 40, *own)
        assert worker_settings(config, said, {"server_key": "o" * 40}).keys == CurveKeys("o" * 40, *own)
        variable = {**said, "TURNOUT_CURVE_SERVER_KEY": "s" * 40}
        assert worker_settings(config, variable, {}).keys == CurveKeys("s" * 40, *own)
    hub, own_file = {"TURNOUT_CURVE_SERVER_KEY": "s" * 40}, {"key_file": str(file)}
    assert worker_settings(config, hub, own_file).keys == CurveKeys("s" * 40, pair.public, pair.secret)


def test_without_variables_there_are_four_places_and_no_hub() -> None:
    said = from_environment({})
    assert (said.connect, said.concurrency, said.keys) == ((), 4, None)
    empty = {"TURNOUT_WORKER_NAME": "", "TURNOUT_WORKER_LABELS": "", "TURNOUT_WORKER_CONCURRENCY": ""}
    assert from_environment(empty) == said, "an empty variable is as good as none"
    with pytest.raises(InvalidSetting, match="name a hub"):
        said.check()


@pytest.mark.parametrize(
    "wrong",
    [
        {"TURNOUT_WORKER_CONCURRENCY": "many"},
        {"TURNOUT_WORKER_LABELS": "gpu"},
        {"TURNOUT_CURVE_SERVER_KEY": "s" * 40},
        {**KEYS, "TURNOUT_CURVE_SECRET_KEY": "short"},
    ],
)
def test_variables_that_make_no_sense_are_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(InvalidSetting):
        from_environment(wrong)


@pytest.mark.parametrize(
    "settings",
    [
        WorkerSettings(connect=("127.0.0.1:5890",)),
        WorkerSettings(connect=("tcp://",)),
        *(
            WorkerSettings(connect=(wrong,))
            for wrong in ("tcp://a", "tcp://a:b", "tcp://a:99999", "tcp://a:0", "tcp://*:1", "tcp://a:1/b", "ipc://")
        ),
        WorkerSettings(connect=("tcp://a:1",), concurrency=0),
        WorkerSettings(connect=("tcp://a:1",), concurrency=10_001),
        WorkerSettings(connect=("tcp://a:1",), name="n" * 257),
        WorkerSettings(connect=("tcp://a:1",), labels={"gpu": "t" * 257}),
        WorkerSettings(connect=("tcp://a:1",), grace=-1),
    ],
)
def test_settings_that_cannot_work_are_refused(settings: WorkerSettings) -> None:
    with pytest.raises(InvalidSetting):
        settings.check()


@pytest.mark.parametrize("address", ["tcp://a:1", "tcp://[::1]:5890", "tcp://10.0.0.5:65535", "ipc:///run/hub"])
def test_addresses_of_hubs_are_taken(address: str) -> None:
    WorkerSettings(connect=(address,)).check()


def test_a_label_that_makes_no_sense_is_refused_by_the_name_of_who_said_it() -> None:
    with pytest.raises(InvalidSetting, match=r"^TURNOUT_WORKER_LABELS has 'gpu': write NAME=VALUE"):
        from_environment({"TURNOUT_WORKER_LABELS": "gpu"})
    with pytest.raises(InvalidSetting, match=r"^--label has gpu=true and gpu=false: a worker has one value"):
        labels_of(["gpu=true", "zone=a", "gpu=false"], "--label")
    assert labels_of(["gpu=true", "gpu=true"]) == {"gpu": "true"}


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("TURNOUT_WORKER_LABEL", "TURNOUT_WORKER_LABELS"),
        ("TURNOUT_WORKER_CONCURENCY", "TURNOUT_WORKER_CONCURRENCY"),
        ("TURNOUT_CONECT", "TURNOUT_CONNECT"),
        ("TURNOUT_CURVE_SERVERKEY", "TURNOUT_CURVE_SERVER_KEY"),
    ],
)
def test_a_variable_with_a_slip_in_it_is_refused_with_what_was_meant(said: str, meant: str) -> None:
    with pytest.raises(InvalidSetting, match=f"no variable {said}: did you mean {meant}"):
        from_environment({said: "8"})


def test_other_variables_are_left_alone() -> None:
    others = ("TURNOUT_HUB", "TURNOUT_WORKER__NAME", "TURNOUT_WORKER_REGION", "TURNOUT_DATABASE", "TURNOUT_CONFIG")
    assert from_environment(dict.fromkeys(others, "x")) == from_environment({})


@pytest.mark.parametrize(
    "said",
    [
        'labels = { gpu = "true", slots = 4 }',
        '[worker.labels]\ngpu = true\nslots = "4"',
        'labels = ["gpu=true", "slots=4"]',
    ],
)
def test_labels_in_the_file_are_a_table_or_a_list(tmp_path: Path, said: str) -> None:
    (tmp_path / "turnout.toml").write_text(f"[worker]\n{said}\n")
    assert worker_settings(read_config(tmp_path, {}), {}, {}).labels == {"gpu": "true", "slots": "4"}


@pytest.mark.parametrize("said", ["labels = { gpu = [] }", 'labels = { gpu = "" }', "labels = 3"])
def test_labels_in_the_file_that_make_no_sense_are_refused(tmp_path: Path, said: str) -> None:
    (tmp_path / "turnout.toml").write_text(f"[worker]\n{said}\n")
    with pytest.raises(InvalidSetting, match=r"turnout.toml: worker.labels is .*; write labels as \{ gpu"):
        read_config(tmp_path, {})


def test_options_win_over_variables_and_variables_over_the_file(tmp_path: Path) -> None:
    (tmp_path / "turnout.toml").write_text(
        '[worker]\nconnect = ["tcp://file:1"]\nname = "file"\nconcurrency = 2\nprocesses = true\ngrace = "5s"\n'
        'labels = ["zone=file"]\n'
    )
    config = read_config(tmp_path, {})
    said = worker_settings(
        config, {"TURNOUT_WORKER_NAME": "variable", "TURNOUT_CONNECT": "tcp://v:1"}, {"concurrency": 7}
    )
    assert (said.connect, said.name, said.concurrency) == (("tcp://v:1",), "variable", 7)
    assert (said.processes, said.grace, said.labels) == (True, 5.0, {"zone": "file"})


def test_a_pair_of_keys_comes_from_a_file_and_the_hubs_key_from_an_option(tmp_path: Path) -> None:
    zmq.auth.create_certificates(tmp_path, "me")
    server = zmq.curve_keypair()[0].decode()
    said = worker_settings(Config(tmp_path), {}, {"server_key": server, "key_file": str(tmp_path / "me.key_secret")})
    assert said.keys is not None and said.keys.server == server and len(said.keys.secret) == 40
    with pytest.raises(InvalidSetting, match="no secret key"):
        worker_settings(Config(tmp_path), {}, {"server_key": server, "key_file": str(tmp_path / "me.key")})
    with pytest.raises(InvalidSetting, match="the public key is missing"):
        worker_settings(Config(tmp_path), {}, {"server_key": server})
    with pytest.raises(InvalidSetting, match="cannot be read"):
        worker_settings(Config(tmp_path), {}, {"server_key": server, "key_file": str(tmp_path / "none")})


def test_a_workers_key_file_is_looked_at_as_a_hubs_is(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    zmq.auth.create_certificates(tmp_path, "me")
    server, file = zmq.curve_keypair()[0].decode(), tmp_path / "me.key_secret"
    options = {"server_key": server, "key_file": str(file)}
    for mode, warned in ((0o600, False), (0o640, True)):
        file.chmod(mode)
        caplog.clear()
        worker_settings(Config(tmp_path), {}, options)
        assert ("which holds a secret key: chmod 600 it" in caplog.text) is warned
    # A volume of a Secret: the kubelet lets the group of the pod read it.
    (tmp_path / "..data").mkdir()
    for mode, warned in ((0o440, False), (0o444, True), (0o460, True)):
        file.chmod(mode)
        caplog.clear()
        worker_settings(Config(tmp_path), {}, options)
        assert ("which holds a secret key: chmod 600 it" in caplog.text) is warned
    file.chmod(0o600)
    public = zmq.curve_keypair()[0].decode()
    file.write_text(re.sub(r'public-key = "[^"]+"', lambda _: f'public-key = "{public}"', file.read_text()))
    with pytest.raises(InvalidSetting, match="do not belong together"):
        worker_settings(Config(tmp_path), {}, options)


def test_a_worker_that_could_run_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match="could run nothing"):
        handlers_of(Config(tmp_path), (), shell=False)
    assert handlers_of(Config(tmp_path), ()).names == ("turnout.shell", "turnout.step")
