"""The pages tell the truth: their examples run, their tables and diagrams are the code's, their links lead on."""

from __future__ import annotations

import ast
import importlib
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.kit.forked import run_forked
from tools import reference
from turnout import Runner, errors
from turnout.authoring.yaml.compiler import compile_file
from turnout.authoring.yaml.key_reference import KEY_TABLES
from turnout.authoring.yaml.reader import read_file
from turnout.model.exposition import FAMILIES
from turnout.model.reasons import WAIT_REASONS
from turnout.model.run_figures import FAMILIES as RUN_FAMILIES
from turnout.model.states import RUN_MOVES, TASK_MOVES, RunState, TaskState
from turnout.runner import PoolSettings, PoolsSettings
from turnout.runner.config import read_config
from turnout.runner.settings import runner_config
from turnout.telemetry import dropped_spans

pytestmark = pytest.mark.timeout(120)

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [*sorted(DOCS.rglob("*.md")), ROOT / "README.md"]
EXAMPLES = [page for page in PAGES if "```python" in page.read_text()]


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path, language: str) -> list[tuple[int, str]]:
    """The page's blocks in that language, each with the line that it starts in."""
    text = page.read_text()
    found = re.finditer(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [(text[: match.start(1)].count("\n") + 1, match.group(1)) for match in found]


@pytest.mark.parametrize("page", EXAMPLES, ids=named)
def test_the_examples_of_a_page_run_in_order(page: Path, tmp_path: Path) -> None:
    # Blank lines before a block give its lines in tracebacks the numbers that they have in the page.
    lines: list[str] = []
    for start, code in blocks(page, "python"):
        lines += [""] * (start - 1 - len(lines)) + code.splitlines()
    # Not the page's own name: a program called types.py would hide a module of the standard library.
    program = tmp_path / f"page_{page.stem}.py"
    program.write_text("\n".join(lines) + "\n")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    code, out, err = run_forked([program.name], cwd=tmp_path, env=environment, timeout=100)
    assert code == 0, f"{named(page)}:\n{out}\n{err}"
    assert "Traceback" not in err, err


YAML_PAGES = [DOCS / "how-to/yaml-workflows.md", DOCS / "how-to/coming-from/dagu.md"]


@pytest.mark.parametrize("page", YAML_PAGES, ids=named)
def test_the_workflow_files_of_a_page_run(page: Path, tmp_path: Path) -> None:
    with Runner(f"sqlite:///{tmp_path}/docs.db", workflows=[], config=False) as runner:
        for number, (line, text) in enumerate(blocks(page, "yaml")):
            if "steps:" not in text:
                continue
            compiled = compile_file(text, name=f"page{number}")
            assert not [each for each in compiled.findings if each.severity == "error"], f"{named(page)}:{line}"
            if "handler: " in text:
                continue  # it needs a worker, and a server on the internet
            run = runner.submit(compiled.workflows[0])
            assert run.wait(60) == "completed", f"{named(page)}:{line}: {[each.error for each in run.tasks()]}"


WORKFLOW_FILES = [
    (page, line, text) for page in PAGES for line, text in blocks(page, "yaml") if re.search(r"(?m)^steps:", text)
]


@pytest.mark.parametrize(
    ("page", "line", "text"), WORKFLOW_FILES, ids=[f"{named(page)}:{line}" for page, line, _ in WORKFLOW_FILES]
)
def test_a_workflow_file_in_a_page_has_no_errors(page: Path, line: int, text: str) -> None:
    found = [each for each in read_file(text, name=page.stem).findings if each.severity == "error"]
    assert found == [], f"{named(page)}, line {line}"


def test_every_table_of_a_workflow_file_is_in_the_reference() -> None:
    page = (DOCS / "reference" / "workflow-file.md").read_text()
    assert set(re.findall(r"<!-- generated: workflow_keys (\w+) -->", page)) == set(KEY_TABLES)


def test_every_page_of_a_feature_has_examples() -> None:
    features = {"workflows", "types", "testing", "runner", "logs", "retention", "routing", "custom-executor", "polling"}
    features |= {"guarantees", "lifecycle", "settings", "branches-and-hooks", "deferring", "processes", "shell"}
    assert features <= {page.stem for page in EXAMPLES}


def diagram(moves: Mapping[StrEnum, frozenset[StrEnum]], first: tuple[StrEnum, ...]) -> str:
    """The table of moves as a Mermaid state diagram."""
    order = {state: number for number, state in enumerate(moves)}
    lines = ["stateDiagram-v2", *(f"    [*] --> {state}" for state in first)]
    for old, targets in moves.items():
        lines += [f"    {old} --> {new}" for new in sorted(targets, key=order.__getitem__)]
        lines += [] if targets else [f"    {old} --> [*]"]
    return "\n".join(lines) + "\n"


def test_the_diagrams_of_the_lifecycle_are_the_tables_of_moves() -> None:
    drawn = [code for _, code in blocks(DOCS / "explanation/lifecycle.md", "mermaid")]
    assert drawn == [
        diagram(RUN_MOVES, (RunState.PENDING, RunState.RUNNING)),
        diagram(TASK_MOVES, (TaskState.PENDING,)),
    ]


def test_the_lifecycle_describes_every_state() -> None:
    text = (DOCS / "explanation/lifecycle.md").read_text()
    for state in (*RunState, *TaskState):
        assert f"| {state} |" in text


def test_the_yaml_of_the_configuration_is_read_as_it_stands(tmp_path: Path) -> None:
    for number, (_, text) in enumerate(blocks(DOCS / "reference/configuration.md", "yaml")):
        (tmp_path / f"{number}.yaml").write_text(text)
        config = read_config(tmp_path, {"TURNOUT_CONFIG": f"{number}.yaml"})
        settings = config.orchestration
        assert settings is not None or config.hub is not None
    assert settings is not None, "the last one is of the coordinator and the pools"
    coordinator, pools = settings.coordinator, settings.executor_pools
    assert (coordinator.scaling_interval_seconds, coordinator.max_db_pool_usage) == (30.0, 0.85)
    sizes = [(pool.min_executors, pool.max_executors, pool.batch_size) for pool in each_pool(pools)]
    assert sizes[:4] == [(1, 5, 10), (2, 10, 20), (2, 8, 50), (2, 10, 20)]
    assert pools.task_finalizer == PoolsSettings().task_finalizer, "a pool that is not named keeps its defaults"


def test_the_toml_of_the_configuration_is_read_as_it_stands(tmp_path: Path) -> None:
    for number, (_, text) in enumerate(blocks(DOCS / "reference/configuration.md", "toml")):
        (tmp_path / f"{number}.toml").write_text(text)
        config = read_config(tmp_path, {"TURNOUT_CONFIG": f"{number}.toml"})
        assert config.orchestration is not None or config.hub is not None


def each_pool(pools: PoolsSettings) -> list[PoolSettings]:
    return [getattr(pools, name) for name in pools.__struct_fields__]


def test_every_table_of_settings_is_in_its_page() -> None:
    text = (DOCS / "reference/settings.md").read_text()
    assert set(re.findall(r"<!-- generated: settings ([\w.]+) -->", text)) == reference.setting_tables()


def test_the_configuration_of_handlers_that_subscribe_is_read_as_it_stands(tmp_path: Path) -> None:
    for language, made in (("yaml", "zmq_pubsub"), ("toml", "rails")):
        ((_, said),) = blocks(DOCS / "how-to/pubsub.md", language)
        (tmp_path / f"config.{language}").write_text(said)
        config = read_config(tmp_path, {"TURNOUT_CONFIG": f"config.{language}"})
        assert list(runner_config(config).executors) == [made]


def test_the_tests_that_show_the_guarantees_exist() -> None:
    text = (DOCS / "explanation/guarantees.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("| ") and "](../../tests/" in line]
    assert len(rows) >= 15
    for row in rows:
        parts = re.findall(r"\]\(\.\./\.\./(tests/[\w/]+\.py)\)([^\[]*)", row)
        assert parts, row
        for file, claims in parts:
            source = (ROOT / file).read_text()
            for test in re.findall(r"`(test_\w+)`", claims):
                assert f"def {test}(" in source, f"{file} has no {test}"


@pytest.mark.parametrize("page", [*PAGES, ROOT / "ARCHITECTURE.md"], ids=named)
def test_links_between_files_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[\w-]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), f"{named(page)} links to {target}"


def test_the_first_page_leads_to_all_others() -> None:
    links = re.findall(r"\]\(([\w/-]+\.md)\)", (DOCS / "index.md").read_text())
    linked = set(links)
    assert len(links) == len(linked), "each page is listed once"
    pages = {page for page in DOCS.rglob("*.md") if page.parent.name != "decisions" and page.parent.name != "api"}
    assert {str(page.relative_to(DOCS)) for page in pages} - linked == {"index.md"}


@pytest.mark.skipif(find_spec("mkdocstrings") is None, reason="mkdocs and mkdocstrings are not installed")
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_generated_parts_of_the_reference_are_current() -> None:
    assert [named(page) for page in reference.stale()] == [], "to mend: make reference"


def imported(name: str) -> object:
    module, _, short = name.rpartition(".")
    return getattr(importlib.import_module(module), short)


REFERENCED = {name: imported(name) for name in reference.api_names()}
PACKAGES = ("turnout", "turnout.dispatcher", "turnout.runner", "turnout.testing", "turnout.worker")


@pytest.mark.parametrize("package", PACKAGES)
def test_the_api_reference_has_every_exported_name(package: str) -> None:
    exported = {name: imported(f"{package}.{name}") for name in importlib.import_module(package).__all__}
    assert [name for name, value in exported.items() if not any(value is each for each in REFERENCED.values())] == []


def test_the_api_reference_has_every_exception() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, BaseException)]
    assert len(kinds) > 40 and [kind.__name__ for kind in kinds if kind not in REFERENCED.values()] == []


def test_every_error_code_is_in_its_page_with_cause_and_remedy() -> None:
    rows = re.findall(r"^\| (`.*?) \| [^|]+ \| [^|]+ \|$", (DOCS / "reference/errors.md").read_text(), re.MULTILINE)
    listed = {code for row in rows for code in re.findall(r"`(\w+)`", row)}
    codes = set(reference.raised_codes())
    of_classes = {kind.code for kind in reference.exceptions()}
    assert len(codes) > 90 and sorted(codes - listed - of_classes) == []


def test_every_error_code_is_listed_with_the_exceptions_that_have_it() -> None:
    kinds, raised = {kind.__name__ for kind in reference.exceptions()}, reference.raised_codes()
    sections = (DOCS / "reference/errors.md").read_text().partition("\n## Codes\n")[2].split("\n### ")
    wrong: list[str] = []
    for section in sections:
        heading, _, rows = section.partition("\n| code |")
        for codes, cause in re.findall(r"^\| (`.*?) \| ([^|]+) \|", rows, re.MULTILINE):
            listed = {word for word in re.findall(r"`(\w+)`", heading + cause) if word in kinds}
            for code in re.findall(r"`(\w+)`", codes):
                wrong += [f"{code}: {missing}" for missing in sorted(raised.get(code, set()) - listed)]
    assert len(sections) > 7 and wrong == []


@pytest.mark.parametrize("page", EXAMPLES, ids=named)
def test_examples_import_only_what_the_api_reference_has(page: Path) -> None:
    public = {name.rpartition(".")[0] for name in REFERENCED}
    for _, code in blocks(page, "python"):
        for each in ast.walk(ast.parse(code)):
            if isinstance(each, ast.ImportFrom) and (each.module or "").partition(".")[0] == "turnout":
                assert each.module in public
                for name in each.names:
                    assert any(imported(f"{each.module}.{name.name}") is value for value in REFERENCED.values())


def test_the_first_page_says_how_to_install_it_before_what_to_run() -> None:
    text = (ROOT / "README.md").read_text()
    assert 0 < text.find("\npip install turnout\n") < text.find("\nmake demo ") < text.find("\nmake test ")


def test_the_quick_start_lists_every_extra() -> None:
    text = (DOCS / "tutorial/quickstart.md").read_text()
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert [
        each
        for each in extras
        if each not in ("dev", "test-clusters", "test-postgres") and f"| `pip install 'turnout[{each}]'` |" not in text
    ] == []


def test_every_option_of_a_worker_is_in_its_page() -> None:
    text, source = (DOCS / "how-to/workers.md").read_text(), (ROOT / "src/turnout/cli/worker.py").read_text()
    source = source.partition(") -> int:")[0]
    named = set(re.findall(r'"(--[\w-]+)', source))
    parameters = set(re.findall(r"^    (\w+): ", source, re.MULTILINE)) - {"connect", "modules", "labels"}
    named |= {f"--{name.replace('_', '-')}" for name in parameters}
    assert len(named) > 12 and [option for option in sorted(named) if f"`{option}" not in text] == []


def test_the_production_guide_is_read_as_it_stands(tmp_path: Path) -> None:
    page = DOCS / "how-to/production.md"
    [(_, text)] = blocks(page, "toml")
    (tmp_path / "turnout.toml").write_text(text)
    config = read_config(tmp_path, {})
    assert config.hub is not None and config.orchestration is not None and config.orchestration.retention is not None
    [(_, rules)] = blocks(page, "yaml")
    alerts = re.findall(r"\bturnout_\w+", rules)
    assert len(alerts) > 5 and set(alerts) <= set(FAMILIES)


@pytest.mark.parametrize("page", sorted((DOCS / "how-to").glob("*.md")), ids=named)
def test_metrics_of_the_guides_exist(page: Path) -> None:
    mentioned = set(re.findall(r"`(turnout_[a-z_]*[a-z])[`{]", page.read_text()))
    assert mentioned <= {*FAMILIES, *RUN_FAMILIES, "turnout_worker_running_steps", dropped_spans.METRIC}


def test_the_page_of_telemetry_names_every_reason_for_which_spans_are_dropped() -> None:
    text = (DOCS / "how-to/telemetry.md").read_text()
    assert [each for each in dropped_spans.DroppedSpans().numbers() if f"| `{each}` |" not in text] == []


def test_troubleshooting_names_every_waiting_reason() -> None:
    rows = re.findall(r"^\| (`.*?) \|", (DOCS / "how-to/troubleshooting.md").read_text(), re.MULTILINE)
    named = {word for row in rows for word in re.findall(r"`(\w+)", row)}
    assert set(WAIT_REASONS) <= named


def test_the_words_of_the_glossary_are_explained_once() -> None:
    rows = re.findall(r"^\| ([\w ,-]+) \|", (DOCS / "reference/glossary.md").read_text(), re.MULTILINE)
    words = [word for row in rows for word in row.split(", ") if word != "word"]
    assert len(words) == len(set(words))
    assert {"run", "task", "attempt", "executor", "stage", "orchestrator", "lease", "epoch"} <= set(words)


def test_adding_a_language_names_sessions_that_exist() -> None:
    text = (DOCS / "reference/conformance.md").read_text().split("\n### 5.")[1].split("\n### 6.")[0]
    sessions = {path.stem for path in (ROOT / "src/turnout/wire/vectors/sessions").glob("*.json")}
    rows = [row.split("|")[2] for row in text.splitlines() if row.startswith("| ") and "`" in row]
    assert rows and {name for row in rows for name in re.findall(r"`(\w+)`", row)} <= sessions


QUOTED = [
    (language, number, code)
    for language in ("python", "ruby", "go", "js")
    for number, code in blocks(DOCS / "how-to/write-a-worker.md", language)
    if not code.startswith("from turnout import remote\n")
]


@pytest.mark.parametrize(("language", "line", "code"), QUOTED, ids=[f"{name}-{line}" for name, line, _ in QUOTED])
def test_handlers_in_the_pages_are_those_of_the_example(language: str, line: int, code: str) -> None:
    folder = "node" if language == "js" else language
    files = [path for path in (ROOT / "examples/languages" / folder).iterdir() if path.is_file()]
    assert any(code in path.read_text() for path in files if path.suffix in (".py", ".rb", ".go", ".mjs")), line
