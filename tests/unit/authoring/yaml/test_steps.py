"""Names of steps, what they depend on, and the defaults that they get."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.workflow_text import error_of, errors_of, notes_of, workflow_of
from turnout.authoring.yaml.conditions import Condition, ContinueOn
from turnout.authoring.yaml.policies import RetryPolicy
from turnout.authoring.yaml.resolution import identifier
from turnout.authoring.yaml.variables import Variable
from turnout.model.names import is_identifier
from turnout.model.resources import Resources


def depends(text: str) -> dict[str, tuple[str, ...]]:
    return {step.name: step.depends for step in workflow_of(text).steps}


def test_steps_without_a_name_are_named_by_their_place() -> None:
    document = workflow_of("steps: [ls, {command: ls, id: two}, {command: ls, name: three}, ls]")
    assert [step.name for step in document.steps] == ["step_1", "two", "three", "step_4"]


def test_a_generated_name_is_never_a_written_one() -> None:
    document = workflow_of("steps: [ls, {command: ls, name: step_1}, {command: ls, name: step_1_}]")
    assert [step.name for step in document.steps] == ["step_1__", "step_1", "step_1_"]


def test_a_name_with_blanks_becomes_an_identifier() -> None:
    [one, two] = workflow_of(
        "type: graph\nsteps: [{name: load all, command: ls}, {name: 2nd, command: ls, depends: load all}]"
    ).steps
    assert (one.name, one.title) == ("load_all", "load all")
    assert (two.name, two.title, two.depends) == ("_2nd", "2nd", ("load_all",))


@given(st.text(min_size=1, max_size=300))
def test_every_name_becomes_an_identifier(name: str) -> None:
    assert is_identifier(identifier(name))


def test_steps_may_be_a_table_or_be_called_tasks() -> None:
    document = workflow_of("tasks: {one: ls, two: {command: make, depends: one}}")
    assert [(step.name, step.where) for step in document.steps] == [("one", "steps.one"), ("two", "steps.two")]


def test_a_chain_goes_from_step_to_step() -> None:
    assert depends("steps: [a, b, c]") == {"step_1": (), "step_2": ("step_1",), "step_3": ("step_2",)}


def test_steps_in_a_list_of_the_chain_run_at_once() -> None:
    found = depends("steps: [{id: a, command: x}, [{id: b, command: x}, {id: c, command: x}], {id: d, command: x}]")
    assert found == {"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c")}


def test_a_step_of_a_chain_may_say_what_it_depends_on() -> None:
    found = depends(
        "type: chain\nsteps: [{id: a, command: x}, {id: b, command: x, depends: []}, {id: c, command: x, depends: a}]"
    )
    assert found == {"a": (), "b": (), "c": ("a",)}


def test_a_graph_has_only_the_written_dependencies() -> None:
    found = depends("steps: [{id: a, command: x}, {id: b, command: x}, {id: c, command: x, depends: [a, b, a]}]")
    assert found == {"a": (), "b": (), "c": ("a", "b")}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("steps: [ls, ls]", "chain"),
        ("steps: [{id: a, command: x}, {command: x, depends: a}]", "graph"),
        ("steps: [{id: a, command: x, depends: []}]", "graph"),
    ],
)
def test_a_note_says_which_type_was_taken(text: str, kind: str) -> None:
    assert workflow_of(text).type == kind and "assumed_type" in notes_of(text)
    assert "assumed_type" not in notes_of(f"type: {kind}\n{text}")


def test_ids_and_names_are_both_known() -> None:
    found = depends("steps: [{id: a, name: first, command: x}, {command: x, depends: a}, {command: x, depends: first}]")
    assert found == {"first": (), "step_2": ("first",), "step_3": ("first",)}


def test_unknown_dependencies_are_reported_one_by_one() -> None:
    errors = errors_of(
        "steps:\n  - {id: extract, command: x}\n  - command: x\n    depends:\n      - extrat\n      - load\n"
    )
    assert [(each.code, each.line, each.column) for each in errors] == [
        ("unknown_dependency", 5, 9),
        ("unknown_dependency", 6, 9),
    ]
    assert "did you mean 'extract'?" in errors[0].message


def test_a_cycle_is_reported_with_its_steps() -> None:
    error = error_of(
        """
        steps:
          - {id: a, command: x, depends: c}
          - {id: b, command: x, depends: a}
          - {id: c, command: x, depends: b}
        """
    )
    assert error.code == "cycle" and error.line in (3, 4, 5)
    assert error.message.count("→") == 3


def test_a_step_cannot_depend_on_itself() -> None:
    assert error_of("steps: [{id: a, command: x, depends: a}]").code == "cycle"


@pytest.mark.parametrize(
    "steps",
    [
        "[{name: a, command: x}, {name: a, command: x}]",
        "[{name: a, command: x}, {id: a, command: x}]",
        "[{id: a, command: x}, {id: a, command: x}]",
        "[{name: a b, command: x}, {name: a_b, command: x}]",
    ],
)
def test_a_name_or_id_cannot_be_there_twice(steps: str) -> None:
    error = error_of(f"steps: {steps}")
    assert error.code == "duplicate_step" and error.where.startswith("steps[1].")


def test_a_step_may_have_its_name_as_id() -> None:
    assert workflow_of("steps: [{id: a, name: a, command: x}]").steps[0].name == "a"


def test_names_of_hooks_are_reserved() -> None:
    assert error_of("steps: [{name: on_failure.tell, command: x}]").code == "bad_name"


def test_defaults_are_for_steps_that_have_no_own_value() -> None:
    [plain, own] = workflow_of(
        """
        defaults:
          retry_policy: {limit: 2}
          timeout_sec: 60
          continue_on: failed
          signal_on_stop: SIGINT
          shell: bash -e
          working_dir: /srv
          workerSelector: {gpu: true}
          env: {A: 1, B: 1}
          preconditions: test -d data
        steps:
          - make
          - command: make
            retry_policy: {limit: 5}
            timeout_sec: 5
            continue_on: skipped
            workerSelector: local
            env: {B: 2}
            preconditions: test -f x
        """
    ).steps
    assert plain.retry_policy == RetryPolicy(limit=2) and own.retry_policy == RetryPolicy(limit=5)
    assert (plain.timeout_sec, own.timeout_sec) == (60, 5)
    assert (plain.continue_on, own.continue_on) == (ContinueOn(failure=True), ContinueOn(skipped=True))
    assert (plain.signal_on_stop, plain.shell, plain.working_dir) == ("SIGINT", ("bash", "-e"), "/srv")
    assert (plain.worker_selector, own.worker_selector) == ({"gpu": "true"}, "local")
    assert own.env == (Variable("A", "1"), Variable("B", "1"), Variable("B", "2"))
    assert own.preconditions == (Condition(condition="test -d data"), Condition(condition="test -f x"))


def test_a_step_may_ask_for_resources() -> None:
    [step] = workflow_of("steps: [{command: ls, resources: {gpu: 1, memory: 8GiB, license: 2}}]").steps
    assert step.resources == Resources(gpu=1, memory=8 * 2**30, custom={"license": 2})


def test_wrong_resources_of_a_step_name_the_amount_and_its_place() -> None:
    error = error_of("steps:\n- command: ls\n  resources:\n    cpu: 1\n    memory: 8XB\n")
    assert error.code == "bad_resources" and error.line == 5
    assert error.message.startswith("steps[0].resources: memory is '8XB': write a number of bytes above 0")


def test_handlers_are_steps_named_by_their_events() -> None:
    handlers = workflow_of(
        """
        handlerOn:
          success: ./tell.sh
          failure: {name: alarm, http: POST https://example.com/alarm}
          abort: {call: undo}
          exit: {script: rm -rf scratch, timeout_sec: 5}
        steps: [make]
        """
    ).handler_on
    assert handlers.success and (handlers.success.name, handlers.success.command) == ("success", ("./tell.sh",))
    assert handlers.failure and handlers.failure.name == "alarm"
    assert handlers.cancel and handlers.cancel.call == "undo"
    assert handlers.exit and (handlers.exit.where, handlers.exit.timeout_sec) == ("handler_on.exit", 5)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("handler_on: {falure: ls}", "unknown_key"),
        ("handler_on: {failure: {comand: ls}}", "unknown_key"),
        ("handler_on: {failure: {command: ls, depends: a}}", "bad_value"),
        ("handler_on: {cancel: ls, abort: ls}", "duplicate_key"),
        ("handler_on: ls", "bad_value"),
    ],
)
def test_a_wrong_handler_is_reported(text: str, code: str) -> None:
    assert error_of(f"{text}\nsteps: [make]\n").code == code


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("steps: []", "bad_value"),
        ("steps: make", "bad_value"),
        ("steps: {}", "bad_value"),
        ("steps: [5]", "bad_value"),
        ("steps: [[]]", "bad_value"),
        ("steps: ['']", "bad_value"),
        ("steps:", "missing_key"),
        ("name: x", "missing_key"),
        ("steps: [a]\ntasks: [b]", "duplicate_key"),
        ("steps: {a: ls, a: ls}", "duplicate_key"),
    ],
)
def test_wrong_steps_are_reported(text: str, code: str) -> None:
    assert error_of(text).code == code
