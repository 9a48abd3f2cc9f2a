"""Which file counts, TOML or YAML, and what is wrong with the wrong ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from turnout.errors import InvalidSetting
from turnout.runner.config import read_config
from turnout.runner.settings import url_in

FULL = """
database: sqlite:///data/turnout.db
tenant: acme
workflows: [shop.orders, flows/etl.py]
defaultExecutionMode: distributed
executors:
  printers:
    use: thread
    threads: 1
routing:
  rules:
    - pattern: "**::label"
      executor: printers
      percent: 10
    - {pattern: "**::ml::*", executor: printers, workerSelector: {gpu: "true"}}
orchestration:
  lease: 20s
  limits:
    crashes: 5
  retention:
    states: [completed]
"""


def write(folder: Path, text: str, name: str = "turnout.yaml") -> Path:
    (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize("name", ["turnout.yaml", "turnout.yml"])
def test_every_kind_of_setting_is_read_from_yaml(tmp_path: Path, name: str) -> None:
    deep = write(tmp_path, FULL, name) / "a" / "b"
    deep.mkdir(parents=True)
    config = read_config(deep, {})
    assert (config.root, config.file) == (tmp_path, tmp_path / name)
    assert config.get("database") == f"sqlite:///{tmp_path}/data/turnout.db"
    assert config.get("workflows") == ["shop.orders", str(tmp_path / "flows/etl.py")]
    assert config.get("default_execution_mode") == "distributed"
    assert config.executors == {"printers": {"use": "thread", "threads": 1}}
    routing, orchestration = config.routing, config.orchestration
    assert routing is not None and orchestration is not None and orchestration.retention is not None
    assert (routing.rules[0].percent, routing.rules[1].labels) == (10, {"gpu": "true"})
    assert (orchestration.lease, orchestration.limits.crashes) == (20.0, 5)
    assert orchestration.retention.states == ("completed",)
    assert {entry.origin for entry in config.entries.values()} == {name}


@pytest.mark.parametrize("pair", [("turnout.toml", "turnout.yaml"), ("turnout.yaml", "turnout.yml")])
def test_two_files_in_one_folder_are_refused_by_name(tmp_path: Path, pair: tuple[str, str]) -> None:
    for name in pair:
        write(tmp_path, "", name)
    with pytest.raises(InvalidSetting) as raised:
        read_config(tmp_path, {})
    assert raised.value.code == "several_config_files"
    assert all(name in raised.value.message for name in pair)
    assert read_config(tmp_path, {"TURNOUT_CONFIG": pair[1]}).file == tmp_path / pair[1]


def test_the_nearest_file_counts_whatever_its_form(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    write(tmp_path, "tenant: outer")
    assert read_config(inner, {}).get("tenant") == "outer"
    write(inner, "[tool.turnout]\ntenant = 'project'", "pyproject.toml")
    assert read_config(inner, {}).get("tenant") == "project"
    write(inner, "tenant: inner")
    assert read_config(inner, {}).get("tenant") == "inner"


def test_a_named_file_is_read_by_its_suffix(tmp_path: Path) -> None:
    write(tmp_path, "tenant: one", "prod.yml")
    write(tmp_path, "tenant = 'two'", "prod.toml")
    write(tmp_path, "tenant = 'three'", "prod.conf")
    for name, tenant in (("prod.yml", "one"), ("prod.toml", "two"), ("prod.conf", "three")):
        assert read_config(tmp_path, {"TURNOUT_CONFIG": name}).get("tenant") == tenant


@pytest.mark.parametrize("text", ["", "# all of it is a comment\n", "orchestration:\n  coordinator:\n", "{}"])
def test_what_says_nothing_configures_nothing(tmp_path: Path, text: str) -> None:
    config = read_config(write(tmp_path, text), {})
    assert config.entries == {} and config.orchestration is None
    assert url_in(config) == f"sqlite:///{tmp_path}/.turnout/turnout.db"


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("tenant: [a,\n", "malformed_yaml", "turnout.yaml: line 2, column 1: while parsing a flow node"),
        ("tenant: a\ntenant: b\n", "duplicate_key", "turnout.yaml: line 2, column 1: the key 'tenant' is here again"),
        ("tenant: !!python/name:os.system\n", "malformed_yaml", "line 1, column 9: the tag !!python/name:os.system"),
        ("- tenant\n", "bad_setting", "it is one list; write keys and values"),
        ("just text\n", "bad_setting", "it is one str; write keys and values"),
        ("tenant:\n", "bad_setting", "turnout.yaml: tenant is empty; write text"),
        ("tenant: on\norchestration: 3\n", "bad_setting", "orchestration is 3; it is a table with keys of its own"),
        ("databse: x\n", "unknown_setting", "no setting 'databse': did you mean 'database' or 'direct_database'?"),
        ("defaultExecutionMode: local\ndefault_execution_mode: local\n", "bad_setting",
         "turnout.yaml: default_execution_mode is given twice, in two spellings"),
        ("orchestration:\n  retention:\n    states: [gone]\n", "bad_setting",
         "turnout.yaml: orchestration.retention.states is ['gone']: Invalid enum value"),
        ("orchestration:\n  retention:\n    states: [running]\n", "bad_setting",
         "turnout.yaml: orchestration.retention.states holds 'running': only runs that ended are deleted"),
    ],
)  # fmt: skip
def test_a_slip_in_yaml_is_named(tmp_path: Path, text: str, code: str, said: str) -> None:
    with pytest.raises(InvalidSetting) as raised:
        _ = read_config(write(tmp_path, text), {}).orchestration
    assert raised.value.code == code
    assert said in raised.value.message and "turnout.yaml" in raised.value.message


@pytest.mark.parametrize(("name", "code"), [("turnout.yaml", "malformed_yaml"), ("turnout.toml", "malformed_toml")])
def test_a_file_that_is_not_text_is_named(tmp_path: Path, name: str, code: str) -> None:
    (tmp_path / name).write_bytes(b"tenant: \xff\xfe")
    with pytest.raises(InvalidSetting, match=name) as raised:
        read_config(tmp_path, {})
    assert raised.value.code == code
