"""What is configured: the file, the environment over it, and messages that name the slip."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout.errors import InvalidSetting
from turnout.model.limits import LimitSize
from turnout.model.resources import Resources
from turnout.runner.config import read_config
from turnout.runner.config_schema import FIELDS, dotted, snake
from turnout.runner.settings import direct_url_in, runner_config, url_in

FULL = """
database = "sqlite:///data/turnout.db"
tenant = "acme"
workflows = ["shop.orders", "flows/etl.py"]
defaultExecutionMode = "distributed"

[executors.printers]
use = "thread"
threads = 1

[routing]
default = "default"

[[routing.rules]]
pattern = "**::label"
executor = "printers"
percent = 10

[[routing.rules]]
pattern = "**::ml::*"
executor = "printers"
workerSelector = { gpu = "true" }
resources = { gpu = 1, memory = "8GiB" }

[orchestration]
lease = "20s"
max_owned_runs = 500

[orchestration.limits]
crashes = 5
"""


def write(folder: Path, text: str, name: str = "turnout.toml") -> Path:
    (folder / name).write_text(text)
    return folder


def test_the_direct_url_goes_with_the_configured_database_only(tmp_path: Path) -> None:
    pooler, server = "postgresql://ada@pooler:6432/flows", "postgresql://ada@db/flows"
    config = read_config(tmp_path, {"TURNOUT_DATABASE": pooler, "TURNOUT_DIRECT_DATABASE": server})
    for chosen in (None, "", pooler):
        assert direct_url_in(config, chosen) == server
    assert direct_url_in(config, "sqlite:///other.db") is None
    assert runner_config(config).direct_database_url == server
    assert runner_config(config, database_url="sqlite:///other.db").direct_database_url is None
    assert runner_config(config, database_url=server, direct_database_url=pooler).direct_database_url == pooler


def test_the_variable_of_dagu_sets_the_mode_with_a_warning_and_that_of_turnout_prevails(tmp_path: Path) -> None:
    dagu, own = {"DAGU_DEFAULT_EXECUTION_MODE": "distributed"}, {"TURNOUT_DEFAULT_EXECUTION_MODE": "local"}
    config = read_config(tmp_path, dagu)
    assert config.get("default_execution_mode") == "distributed"
    assert config.entries["default_execution_mode",].origin == "DAGU_DEFAULT_EXECUTION_MODE"
    assert config.warnings == (
        "the environment variable DAGU_DEFAULT_EXECUTION_MODE is read for default_execution_mode: set "
        "TURNOUT_DEFAULT_EXECUTION_MODE instead",
    )
    assert runner_config(config).warnings == config.warnings
    both = read_config(tmp_path, {**dagu, **own})
    assert both.get("default_execution_mode") == "local" and len(both.warnings) == 1
    assert read_config(tmp_path, own).warnings == ()


@pytest.mark.parametrize("variable", ["DAGU_DEFAULT_EXECUTION_MODE", "TURNOUT_DEFAULT_EXECUTION_MODE"])
def test_a_mode_that_does_not_exist_is_refused_and_the_two_are_named(tmp_path: Path, variable: str) -> None:
    with pytest.raises(InvalidSetting, match=rf"{variable}: .*local.*distributed"):
        read_config(tmp_path, {variable: "remote"})


def test_every_kind_of_setting_is_read(tmp_path: Path) -> None:
    config = read_config(write(tmp_path, FULL), {})
    assert config.get("tenant") == "acme"
    assert config.executors == {"printers": {"use": "thread", "threads": 1}}
    assert config.get("default_execution_mode") == "distributed"
    routing, orchestration = config.routing, config.orchestration
    assert routing is not None and orchestration is not None
    assert [rule.executor for rule in routing.rules] == ["printers", "printers"]
    assert routing.rules[0].percent == 10 and routing.rules[1].labels == {"gpu": "true"}
    assert routing.rules[1].asked() == Resources(gpu=1, memory=8 * 2**30)
    assert (orchestration.lease, orchestration.max_owned_runs, orchestration.limits.crashes) == (20.0, 500, 5)
    assert orchestration.heartbeat == 5.0, "what is not said keeps its default"


def test_paths_in_the_file_are_relative_to_the_file(tmp_path: Path) -> None:
    deep = write(tmp_path, FULL) / "a" / "b"
    deep.mkdir(parents=True)
    config = read_config(deep, {})
    assert config.root == tmp_path
    assert config.get("database") == f"sqlite:///{tmp_path}/data/turnout.db"
    assert config.get("workflows") == ["shop.orders", str(tmp_path / "flows/etl.py")]


def test_a_table_in_pyproject_counts_and_turnout_toml_comes_first(tmp_path: Path) -> None:
    write(tmp_path, '[tool.turnout]\ntenant = "one"\n', "pyproject.toml")
    assert read_config(tmp_path, {}).get("tenant") == "one"
    write(tmp_path, 'tenant = "two"\n')
    assert read_config(tmp_path, {}).get("tenant") == "two"


def test_a_pyproject_without_a_table_is_passed_over_but_is_the_project_if_there_is_no_other(tmp_path: Path) -> None:
    inner = tmp_path / "service"
    inner.mkdir()
    write(inner, "[project]\n", "pyproject.toml")
    assert read_config(inner, {}).root == inner
    write(tmp_path, 'tenant = "outer"\n')
    config = read_config(inner, {})
    assert (config.root, config.get("tenant")) == (tmp_path, "outer")


def test_without_a_file_the_database_is_in_the_folder(tmp_path: Path) -> None:
    config = read_config(tmp_path, {})
    assert config.entries == {} and config.routing is None and config.orchestration is None
    assert url_in(config) == f"sqlite:///{config.root}/.turnout/turnout.db"


def test_the_environment_goes_over_the_file_and_says_so(tmp_path: Path) -> None:
    environment = {
        "TURNOUT_DATABASE": "sqlite:///elsewhere.db",
        "TURNOUT_ORCHESTRATION__LEASE": "30s",
        "TURNOUT_ORCHESTRATION__LIMITS__LOSSES": "7",
        "TURNOUT_EXECUTORS__PRINTERS__THREADS": "4",
        "TURNOUT_EXECUTORS__GPU__USE": "my.module:Gpu",
        "TURNOUT_WORKFLOWS": "a, b",
        "TURNOUT_ROUTING__RULES": '[{"pattern": "**", "executor": "gpu"}]',
    }
    config = read_config(write(tmp_path, FULL), environment)
    assert config.get("database") == "sqlite:///elsewhere.db"
    assert config.orchestration is not None and config.routing is not None
    assert (config.orchestration.lease, config.orchestration.max_owned_runs) == (30.0, 500)
    assert (config.orchestration.limits.losses, config.orchestration.limits.crashes) == (7, 5)
    assert config.executors == {"printers": {"use": "thread", "threads": 4}, "gpu": {"use": "my.module:Gpu"}}
    assert config.get("workflows") == ["a", "b"]
    assert [rule.executor for rule in config.routing.rules] == ["gpu"]
    assert config.entries["orchestration", "lease"].origin == "TURNOUT_ORCHESTRATION__LEASE"
    assert config.entries["tenant",].origin == "turnout.toml"


def test_a_file_can_be_named(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    write(other, 'tenant = "named"\n', "prod.toml")
    assert read_config(tmp_path, {"TURNOUT_CONFIG": "other/prod.toml"}).get("tenant") == "named"
    with pytest.raises(InvalidSetting, match=r"TURNOUT_CONFIG names 'nowhere\.toml'"):
        read_config(tmp_path, {"TURNOUT_CONFIG": "nowhere.toml"})


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("databse = 'x'", "unknown_setting", "no setting 'databse': did you mean 'database' or 'direct_database'?"),
        ("[orchestration]\nleese = 1", "unknown_setting", "'orchestration.leese': did you mean 'lease' or 'lanes'?"),
        ("[limits.db]\nat_mots = 1", "unknown_setting", "'limits.db.at_mots': did you mean 'at_most'?"),
        ("[limits.db]\nat_most = 0", "bad_setting", "limits.db.at_most"),
        ("[limits.db]\nper = '1m'", "bad_setting", "limits.db has no size"),
        ("[queues.nightly]\nsize = 1", "unknown_setting", "there is no setting 'queues.nightly.size'"),
        ("[limits]\ndb = 3", "bad_setting", "it is a table with keys of its own"),
        ("[orchestration.limits]\ncrashs = 1", "unknown_setting", "did you mean 'crashes'?"),
        ("[[routing.rules]]\npattern='**'\nexecutr='x'", "unknown_setting", "rule 1: there is no key 'executr'"),
        ("[[routing.rules]]\npattern='**'", "bad_setting", "rule 1: executor is missing"),
        ("[[routing.rules]]\npattern='**'\nexecutor='a'\npercent=200", "bad_setting", "between 0 and 100"),
        ("[[routing.rules]]\npattern='**'\nexecutor='a'\npercent='much'", "bad_setting", "rule 1"),
        ("[orchestration]\nlease = 'soon'", "bad_setting", "lease is 'soon'; write a number of seconds, or text"),
        ("[orchestration]\nmax_owned_runs = 'many'", "bad_setting", "max_owned_runs is 'many'; write a whole number"),
        ("[orchestration]\nlease = '1s'", "bad_setting", "less than lease, 1 (self_fence and heartbeat by"),
        ("tenant = 3", "bad_setting", "tenant is 3; write text"),
        ("workflows = [1]", "bad_setting", "write a list of texts"),
        ("defaultExecutionMode = 'remote'", "bad_setting", 'write "local" or "distributed"'),
        ("executors = 3", "bad_setting", "executors is 3; it is a table"),
        ("[executors]\ngpu = 'thread'", "bad_setting", "executors.gpu is 'thread'; it is a table"),
        ("database = ", "malformed_toml", "is not TOML"),
    ],
)  # fmt: skip
def test_a_slip_in_the_file_is_named(tmp_path: Path, text: str, code: str, said: str) -> None:
    with pytest.raises(InvalidSetting) as raised:
        config = read_config(write(tmp_path, text), {})
        assert config.limits or config.routing or config.orchestration
    assert raised.value.code == code
    assert said in raised.value.message and "turnout.toml" in raised.value.message


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("TURNOUT_DATABSE", "did you mean TURNOUT_DATABASE?"),
        ("TURNOUT_ORCHESTRATION__LEESE", "did you mean 'lease' or 'lanes'?"),
        ("TURNOUT_ROUTING__RULES", "is not JSON"),
    ],
)
def test_a_slip_in_the_environment_is_named(tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(InvalidSetting) as raised:
        read_config(tmp_path, {name: "[x"})
    assert said in raised.value.message and name in raised.value.message


def test_variables_of_others_are_left_alone(tmp_path: Path) -> None:
    others = {"TURNOUT_PORT": "tcp://10.0.0.1", "TURNOUT_SERVICE_HOST": "10.0.0.1", "TURNOUT_TEST_POSTGRES_URL": "x"}
    assert read_config(tmp_path, others).entries == {}


def test_arguments_go_over_what_is_configured(tmp_path: Path) -> None:
    config = read_config(write(tmp_path, FULL), {})
    configured = runner_config(config)
    assert (configured.tenant, configured.settings.lease) == ("acme", 20.0)
    assert list(configured.executors) == ["printers"]
    given_ = runner_config(config, database_url="sqlite:///given.db", tenant="mine", polling=None)
    assert (given_.database_url, given_.tenant, given_.settings.lease) == ("sqlite:///given.db", "mine", 20.0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[executors.a]\nthreads = 1", "executors.a has no `use`"),
        ("[executors.a]\nuse = 'thred'", "there is no executor 'thred': did you mean 'thread'?"),
        ("[executors.a]\nuse = 'no.such:Thing'", "no.such:Thing cannot be imported: ModuleNotFoundError"),
        ("[executors.a]\nuse = 'thread'\nthreds = 1", "has no option 'threds': did you mean 'threads'?"),
        ("[executors.a]\nuse = 'thread'\nthreads = 0", "executors.a: a ThreadExecutor needs a thread"),
        ("[executors.a]\nuse = 'builtins:dict'", "gives dict, which is no task executor"),
    ],
)
def test_an_executor_that_cannot_be_made_is_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InvalidSetting) as raised:
        runner_config(read_config(write(tmp_path, text), {}))
    assert said in raised.value.message and "turnout.toml" in raised.value.message


def test_a_configured_executor_is_named_after_its_key(tmp_path: Path) -> None:
    config = read_config(write(tmp_path, FULL), {})
    assert runner_config(config).executors["printers"].name == "printers"


@given(st.sampled_from(sorted(FIELDS)))
def test_both_spellings_of_every_key_are_understood(key: tuple[str, ...]) -> None:
    for part in key:
        head, *rest = part.split("_")
        assert snake(head + "".join(word.capitalize() for word in rest)) == part
    assert dotted(key)


def test_limits_and_queues_have_names_of_the_user_and_variables_too(tmp_path: Path) -> None:
    text = '[limits."customer-${customerId}"]\natMost = 3\nrate = 10\nper = "1m"\n[queues.Nightly]\nmaxActiveRuns = 2\n'
    (tmp_path / "turnout.toml").write_text(text)
    config = read_config(tmp_path, {"TURNOUT_LIMITS__DB__AT_MOST": "4"})
    assert config.limits == {
        "customer-${customerId}": LimitSize(3, 10, 60.0),
        "queue:Nightly": LimitSize(2),
        "db": LimitSize(4),
    }
    assert runner_config(config).limits == config.limits
