"""Workflow files compiled: the spec of each step, and what is found in files that cannot work."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from turnout import task, workflow
from turnout.authoring.definition import TaskDefaults
from turnout.authoring.registry import Registry
from turnout.authoring.yaml.compiler import CompiledFile, compile_file
from turnout.authoring.yaml.run_retries import steps_of
from turnout.errors import InvalidInput
from turnout.model.retry import RetryPolicy
from turnout.model.spec import ContinueOn, DictOf, FromParam, FromTask, Literally, TaskSpec, WorkflowSpec, decode_spec
from turnout.model.step import Evaluation, Line, Program, Request, Script, StepSpec


@task
def double(number: int) -> int:
    return 2 * number


@workflow
def elsewhere(what: str = "x") -> int:
    return double(1)


TASKS = {"shop:double": double}


def compiled(text: str, **more: Any) -> CompiledFile:
    return compile_file(text, name="flow", tasks=TASKS, workflows={"elsewhere": elsewhere}, **more)


def spec_of(text: str) -> WorkflowSpec:
    found = compiled(text)
    assert found.workflows, found.findings
    return found.workflows[0].spec


def tasks_of(text: str) -> dict[str, TaskSpec]:
    return {each.name: each for each in spec_of(text).tasks}


def body(text: str) -> StepSpec:
    step = spec_of(text).tasks[-1].body.step
    assert step is not None
    return step


@pytest.mark.parametrize(
    ("text", "where", "code"),
    [
        ("steps:\n  - command: echo ${X.y}\n", (2, 14), "unknown_reference"),
        (
            "steps:\n  - {name: a, command: 'echo ${OUT}'}\n  - {name: b, command: echo, output: OUT}\n",
            (2, 24),
            "not_before",
        ),
        ("steps:\n  - command: ls\n    env: {A: '${B:-c}'}\n", (3, 14), "bad_expression"),
        ("steps:\n  - command: ls\n    output: A\n    select: a\n", (4, 13), "bad_select"),
        (
            "steps:\n  - {name: p, parallel: [a], command: ls}\n  - echo ${p.stdout}\n",
            (3, 5),
            "unknown_reference",
        ),
        ("steps:\n  - call: nowhere\n", (2, 11), "unknown_workflow"),
        ("steps:\n  - call: elsewhere\n    params: {wat: 1}\n", (3, 13), "bad_arguments"),
        ("steps:\n  - call: elsewhere\n    params: a b\n", (3, 13), "bad_arguments"),
        ("steps:\n  - call: elsewhere\n    repeat_policy: {repeat: true, limit: 2}\n", (3, 20), "needs_command"),
        ("steps:\n  - call: elsewhere\n    continue_on: {exit_code: 3}\n", (3, 18), "needs_command"),
        ("steps:\n  - call: elsewhere\n    retry_policy: {limit: 1, exit_code: 3}\n", (3, 19), "needs_command"),
        ("steps:\n  - handler: Shop::Ship\n    stdout: out.txt\n", (3, 13), "needs_command"),
        ("steps:\n  - python: os:system\n", (2, 13), "unknown_task"),
        ("steps:\n  - python: shop:doubel\n", (2, 13), "unknown_task"),
        ("steps:\n  - python: shop:double\n    params: {number: 1, wrong: 1}\n", (3, 13), "bad_arguments"),
        ("steps:\n  - python: shop:double\n", (2, 5), "bad_arguments"),
        ("steps:\n  - python: shop:double\n    params: {number: many}\n", (3, 22), "bad_arguments"),
        ("steps:\n  - python: shop:double\n    params: many\n", (3, 13), "bad_arguments"),
        ("steps:\n  - python: shop:double\n    parallel: [1, many]\n", (3, 19), "bad_arguments"),
        (
            "steps:\n  - python: shop:double\n    parallel: {items: [{n: 1}, {n: x}]}\n"
            "    params: {number: '${ITEM.n}'}\n",
            (3, 32),
            "bad_arguments",
        ),
        ("steps:\n  - call: elsewhere\n    params: {what: 1.10}\n", (3, 20), "bad_arguments"),
        (
            "steps:\n  - call: b\n    params: {n: x}\n---\nname: b\nparams: {n: {type: integer}}\nsteps: [ls]\n",
            (3, 17),
            "bad_arguments",
        ),
        ("steps: [ls]\nhandler_on:\n  exit: {call: elsewhere}\n", (3, 9), "bad_handler"),
        (
            "steps:\n  - call: b\n---\nname: b\nsteps:\n  - call: c\n---\nname: c\nsteps:\n  - call: b\n",
            (6, 11),
            "recursive_workflow",
        ),
    ],
)
def test_what_cannot_work_is_an_error_with_its_place(text: str, where: tuple[int, int], code: str) -> None:
    found = compiled(text)
    errors = [(each.line, each.column, each.code) for each in found.findings if each.severity == "error"]
    assert errors == [(*where, code)] or (code == "recursive_workflow" and errors[0][2] == code)
    assert not found.workflows


def test_a_constant_argument_has_the_type_that_the_task_is_annotated_with() -> None:
    tasks = tasks_of("steps:\n  - {name: a, python: 'shop:double', params: {number: '3'}}\n")
    assert tasks["a"].kwargs == {"number": Literally(3)}


def test_every_fault_in_the_arguments_of_a_step_is_reported() -> None:
    found = compiled("steps:\n  - {python: 'shop:double', params: {one: 1, two: 2}}\n")
    messages = [each.message for each in found.findings if each.severity == "error"]
    faults = ["params has 'one'", "params has 'two'", "no argument 'number'"]
    assert [[fault in each for fault in faults].index(True) for each in messages] == [0, 1, 2]


def test_a_secret_is_no_argument_and_is_warned_of_in_the_words_of_a_program() -> None:
    text = "secrets: [{name: S, provider: env, key: S}]\nsteps:\n"
    stored = compiled(f"{text}  - {{name: a, call: elsewhere, params: {{what: '${{S}}'}}}}\n")
    assert [each.code for each in stored.findings if each.severity == "error"] == ["secret_stored"]
    items = compiled(f"{text}  - {{name: a, command: ls, parallel: ['${{S}}']}}\n")
    assert [each.code for each in items.findings if each.severity == "error"] == ["secret_stored"]
    seen = compiled(f"{text}  - {{name: a, command: [curl, '${{S}}']}}\n")
    assert [each.code for each in seen.findings if each.severity == "warning"] == ["secret_visible"]
    assert not [each for each in compiled(f"{text}  - curl ${{S}}\n").findings if each.severity != "note"]


def test_all_errors_of_a_file_are_found_at_once_in_the_order_of_their_places() -> None:
    found = compiled(
        "steps:\n"
        "  - {name: a, command: 'echo ${nope.stdout}', env: {X: '${b.stdout}'}}\n"
        "  - {name: b, python: 'os:remove'}\n"
        "  - {name: c, call: nothing}\n"
    )
    codes = [each.code for each in found.findings if each.severity == "error"]
    assert codes == ["unknown_reference", "not_before", "unknown_task", "unknown_workflow"]


def test_errors_of_keys_and_of_what_they_mean_are_found_at_once() -> None:
    found = compiled(
        "timeout_sec: -1\n"
        "steps:\n"
        "  - {name: a, command: ls, retry_policy: {limit: many}}\n"
        "  - {name: b, python: 'os:remove'}\n"
        "  - {name: c, call: nothing, depends: a}\n"
        "  - {name: d, python: 'shop:double', params: {number: many}}\n"
        "  - {name: e, command: 'echo ${nope.stdout}'}\n"
    )
    errors = [(each.line, each.code) for each in found.findings if each.severity == "error"]
    assert sorted(errors) == [
        (1, "bad_value"),
        (3, "bad_value"),
        (4, "unknown_task"),
        (5, "unknown_workflow"),
        (6, "bad_arguments"),
        (7, "unknown_reference"),
    ]
    assert not found.workflows


@pytest.mark.parametrize(
    "text",
    [
        "steps: [{name: a, comand: ls, output: A}, 'echo ${A.b}']",
        "steps: [{name: a, command: ls, outptu: A}, 'echo ${A.b}']",
        "params: {N: {type: wat}}\nsteps: ['echo ${N.b}']",
        "steps: [{id: 9a b, command: 5}, 'echo ${a.stdout}']",
        "steps: [5, [6], {}, null]",
        "steps: [{parallel: 5, command: ls}, {script: 5}, {http: 5}, {call: 5}, {handler: 5}]",
        "handler_on: 5\nsteps: [ls]",
        "preconditions: [5]\nenv: 5\nsecrets: 5\nsteps: [ls]",
    ],
)
def test_an_error_that_follows_from_another_is_not_reported(text: str) -> None:
    found = compiled(text)
    kinds = {each.code for each in found.findings if each.severity == "error"}
    assert kinds and not kinds & {"unknown_reference", "not_before", "unknown_task"}


def test_a_call_of_a_sub_workflow_without_a_sound_step_is_no_further_error() -> None:
    found = compiled("steps: [{call: b}]\n---\nname: b\nsteps: [{call: nothing}]\n")
    assert [(each.line, each.code) for each in found.findings if each.severity == "error"] == [(4, "unknown_workflow")]


def test_a_step_is_a_shell_body_that_has_all_it_needs() -> None:
    step = body(
        """
        params: {DAY: monday}
        env: {A: "${DAY}"}
        shell: bash -e
        secrets: [{name: TOKEN, provider: env, key: T}]
        steps:
          - name: one
            command: [ls, "${DAY}"]
            working_dir: /tmp
            retry_policy: {limit: 2, exit_code: [75]}
            signal_on_stop: INT
            continue_on: {exit_code: 3, mark_success: true}
            output: X
        """
    )
    assert isinstance(step.actions[0], Program)
    assert (step.shell, step.shell_flag, step.stop_signal) == (("bash", "-e"), "-c", "SIGINT")
    assert [each.name for each in step.env] == ["A"] and [each.name for each in step.secrets] == ["TOKEN"]
    assert step.retry_codes == (75,) and step.output is not None and step.output.name == "X"
    assert step.tolerance is not None and step.tolerance.exit_codes == (3,)


@pytest.mark.parametrize(
    ("step", "kinds"),
    [
        ("command: ls", [Line]),
        ("command: [ls, -l]", [Program]),
        ("command: [[ls], echo a]", [Program, Line]),
        ("script: echo", [Script]),
        ("http: GET https://example.com/", [Request]),
    ],
)
def test_each_kind_of_step_has_its_actions(step: str, kinds: list[type]) -> None:
    assert [type(each) for each in body(f"steps:\n  - {step}\n").actions] == kinds


def test_options_of_steps_are_those_of_tasks() -> None:
    [one] = spec_of(
        """
        steps:
          - command: ls
            retry_policy: {limit: 3, interval_sec: 5, backoff: 3, max_interval_sec: 60}
            timeout_sec: 30
            continue_on: {failure: true, skipped: true}
            workerSelector: {gpu: "true", zone: "${ZONE}"}
        params: {ZONE: eu}
        """
    ).tasks
    assert one.retry == RetryPolicy(attempts=4, backoff="exponential", delay=5, max_delay=60, factor=3)
    assert (one.timeout, one.continue_on) == (30, ContinueOn(failure=True, skipped=True))
    assert one.worker_selector == {"gpu": "true", "zone": "${ZONE}"}


def test_defaults_of_a_program_do_not_replace_what_a_file_says() -> None:
    [flow] = compiled(
        "steps:\n"
        "  - {name: a, command: ls, timeout_sec: 5, retry_policy: {limit: 0}}\n"
        "  - {name: b, python: 'shop:double', params: [1], timeout_sec: 7, retry_policy: {limit: 1}}\n"
        "  - {name: c, command: ls}\n"
    ).workflows
    spec = flow.define(defaults=TaskDefaults(timeout=60, retries=4)).spec
    assert [(each.timeout, each.retry.attempts) for each in spec.tasks] == [(5, 1), (7, 2), (60, 5)]


def test_outputs_of_all_steps_before_are_given_and_the_results_that_are_referred_to() -> None:
    tasks = tasks_of(
        """
        steps:
          - {name: a, command: ls, output: A}
          - {name: b, command: ls}
          - {name: c, command: "echo ${b.stdout}"}
        params: [p, {Q: 1}]
        """
    )
    assert tasks["c"].kwargs == {
        "params": DictOf({"1": FromParam("_1"), "Q": FromParam("Q")}),
        "outputs": DictOf({"A": FromTask("a", ("output",))}),
        "steps": DictOf({"b": FromTask("b")}),
    }
    assert tasks["c"].depends_on == ("b",), "what only gives a value is no dependency"
    kept = tasks["b"].body.step
    assert kept is not None and kept.keeps == ("stdout",)


def test_a_parallel_step_is_mapped_and_its_items_are_evaluated_if_they_must_be() -> None:
    tasks = tasks_of("steps:\n  - {name: p, parallel: [a, b], command: 'echo ${ITEM}'}\n")
    assert tasks["p"].kwargs["item"] == Literally(["a", "b"]) and list(tasks) == ["p"]
    tasks = tasks_of("params: {L: a b}\nsteps:\n  - {name: p, parallel: '${L}', command: 'echo ${ITEM}'}\n")
    assert tasks["p"].kwargs["item"] == FromTask("p.items", ("items",))
    mapped = tasks["p"].map
    assert mapped is not None and mapped.max_parallel == 10
    step = tasks["p.items"].body.step
    assert step is not None and isinstance(step.actions[0], Evaluation)


def test_a_call_is_a_child_run_whose_constant_arguments_need_no_task() -> None:
    tasks = tasks_of("steps:\n  - {name: s, call: elsewhere, params: {what: y}}\n")
    assert tasks["s"].body.ref == "public::embedded::elsewhere" and list(tasks) == ["s"]
    assert tasks["s"].kwargs == {"what": Literally("y")}
    tasks = tasks_of("params: {W: 1}\nsteps:\n  - {name: s, call: elsewhere, params: {what: '${W}'}}\n")
    assert tasks["s"].kwargs == {"what": FromTask("s.params", ("what",))}
    assert tasks["s"].depends_on == ("s.params",)


def test_a_handler_and_a_python_task_get_their_arguments_by_name() -> None:
    tasks = tasks_of(
        "steps:\n"
        "  - {name: h, handler: 'Shop::Ship', params: {order: {id: 1}}, workerSelector: {ruby: 'true'}}\n"
        "  - {name: d, python: 'shop:double', params: [4]}\n"
    )
    assert (tasks["h"].body.kind, tasks["h"].body.ref) == ("handler", "Shop::Ship")
    assert tasks["h"].kwargs == {"order": Literally({"id": 1})} and tasks["h"].worker_selector == {"ruby": "true"}
    assert (tasks["d"].body.kind, tasks["d"].kwargs) == ("python", {"number": Literally(4)})


def test_preconditions_of_a_workflow_are_a_task_that_all_first_steps_wait_for() -> None:
    spec = spec_of("preconditions: 'true'\ntype: graph\nsteps:\n  - {name: a, command: a}\n  - {name: b, command: b}\n")
    assert spec.gate == "preconditions"
    assert {each.name: each.depends_on for each in spec.tasks} == {
        "preconditions": (),
        "a": ("preconditions",),
        "b": ("preconditions",),
    }


def test_handlers_are_hooks() -> None:
    tasks = tasks_of("steps: [ls]\nhandler_on: {success: a, failure: b, abort: c, exit: {name: tidy, command: d}}\n")
    hooks = {name: each.hook.on for name, each in tasks.items() if each.hook is not None}
    assert hooks == {
        "on_success.success": "success",
        "on_failure.failure": "failure",
        "on_cancel.cancel": "cancel",
        "on_exit.tidy": "exit",
    }


def test_names_that_are_made_up_do_not_collide_with_steps() -> None:
    tasks = tasks_of(
        "params: {L: a}\npreconditions: 'true'\nsteps:\n"
        "  - {name: preconditions, command: ls}\n"
        "  - {name: p.items, command: ls}\n"
        "  - {name: p, parallel: '${L}', command: ls}\n"
    )
    assert {"preconditions", "preconditions_", "p.items", "p.items_", "p"} == set(tasks)


@pytest.mark.parametrize(
    ("selector", "affinity"), [("{gpu: 'true'}", "run"), ("local", None), ("{gpu: 'true'}\naffinity: step", None)]
)
def test_the_steps_of_a_run_stay_on_one_worker_unless_the_file_says_otherwise(selector: str, affinity: str) -> None:
    assert spec_of(f"workerSelector: {selector}\nsteps: [ls]\n").affinity == affinity


def test_the_spec_is_stored_and_read_back_as_it_was() -> None:
    spec = spec_of(
        "params: {L: a}\npreconditions: 'true'\nsecrets: [{name: S, provider: file, key: /x}]\nsteps:\n"
        "  - {name: p, parallel: '${L}', command: 'echo ${ITEM} ${raw:L}', repeat_policy: {repeat: true, limit: 2}}\n"
        "  - {name: h, http: {url: 'http://x/${L}', body: {a: ['${L}']}}, output: B, select: .a}\n"
        "handler_on: {exit: ls}\n"
    )
    assert decode_spec(msgspec.json.encode(spec)) == spec


def test_a_file_that_is_read_again_replaces_what_it_was_and_stays_the_same_if_it_did_not_change() -> None:
    registry = Registry()
    [first] = compiled("steps: [ls]").workflows
    known = registry.define(first)
    [same] = compiled("steps: [ls]").workflows
    assert registry.define(same) is known, "the same text is the same definition"
    [other] = compiled("steps: [ls -l]").workflows
    assert registry.define(other).spec != known.spec


def test_parameters_are_bound_by_name_and_place_and_read_from_text() -> None:
    [flow] = compiled(
        "params: [x, {name: N, type: integer, default: 3}, {name: R, required: true}]\nsteps: [ls]"
    ).workflows
    assert flow.bind("a b", "7", R="r") == {"_1": "a b", "N": 7, "R": "r"}
    with pytest.raises(InvalidInput) as caught:
        flow.bind(N="many")
    assert {each.code for each in caught.value.fields["problems"]} == {"invalid_parameter", "missing_parameter"}


def test_a_workflow_has_its_document_and_its_text() -> None:
    text = "description: What it does\nsteps: [ls]\n"
    [flow] = compiled(text).workflows
    assert (flow.text, flow.document.description, flow.name) == (text, "What it does", "flow")


def test_no_text_makes_it_raise() -> None:
    for text in ("", "[", "steps: 3", "steps: []", "a: b: c", "steps:\n  - call: flow\n", "\x00", "--- 1\n--- 2\n"):
        assert not compiled(text).workflows


def test_errors_of_one_step_do_not_hide_those_of_others() -> None:
    text = """\
type: graph
steps:
  - {name: one, comand: ls}
  - {name: two, call: nosuch}
  - {name: three, command: "echo ${zz.stdout}"}
  - {name: a, command: x, depends: a}
  - {name: b, command: x, depends: d}
  - {name: d, command: x, depends: b}
  - {name: e, call: local}
handler_on:
  exit: {call: other}
---
name: local
type: graph
steps: [{command: "echo ${yy.stdout}"}]
"""
    errors = [(each.line, each.code) for each in compiled(text).findings if each.severity == "error"]
    assert errors == [
        (3, "unknown_key"),
        (4, "unknown_workflow"),
        (5, "unknown_reference"),
        (6, "cycle"),
        (7, "cycle"),
        (11, "bad_handler"),
        (15, "unknown_reference"),
    ]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("steps: [{python: 'os:remove', timeout_sec: x}]", {"unknown_task", "bad_value"}),
        ("steps: [{name: a, depends: a, command: 'echo ${x.y}'}]", {"cycle", "unknown_reference"}),
    ],
)
def test_several_errors_of_one_step_are_reported_together(text: str, codes: set[str]) -> None:
    assert {each.code for each in compiled(text).findings if each.severity == "error"} == codes


@pytest.mark.parametrize(
    "text",
    [
        "steps:\n  - {name: a, command: x, ouput: OUT}\n  - {command: 'echo ${OUT.field}'}\n",
        "parms: {A: 1}\nsteps:\n  - {command: 'echo ${A.b}'}\n",
        "params: {COUNT: {type: whole}}\nsteps:\n  - {command: 'echo ${COUNT.b}'}\n",
        "steps:\n  - {call: sub}\n---\nname: sub\nparams: {A: {type: whole}}\nsteps: [ls]\n",
        "steps:\n  - {name: a, command: ls, script: x, call: y}\n",
    ],
)
def test_what_follows_from_another_error_is_left_out(text: str) -> None:
    assert len([each for each in compiled(text).findings if each.severity == "error"]) == 1


def test_a_workflow_with_a_retry_policy_has_one_task_that_repeats_its_steps() -> None:
    found = compiled(
        "params: [p, {Q: 1}]\nretry_policy: {limit: 2, interval_sec: 5, backoff: 3, max_interval_sec: 60}\n"
        "timeout_sec: 30\nsteps: [{name: a, command: ls, output: A}]\n"
    )
    outer, steps = found.workflows
    assert (outer.spec.full_name, steps.spec.full_name) == ("public::embedded::flow", "public::flow::flow")
    assert outer.spec.params == steps.spec.params
    [task] = outer.spec.tasks
    assert (task.name, task.body.kind, task.body.ref) == ("flow", "workflow", "public::flow::flow")
    assert task.retry == RetryPolicy(attempts=3, backoff="exponential", delay=5, max_delay=60, factor=3)
    assert task.kwargs == {"_1": FromParam("_1"), "Q": FromParam("Q")}
    assert outer.spec.result == FromTask("flow") and [each.name for each in steps.spec.tasks] == ["a"]
    assert (outer.spec.timeout, steps.spec.timeout) == (None, 30), "each run has the time"
    assert {each.code for each in found.findings} <= {"assumed_type"}
    assert steps_of(outer) is steps and steps_of(steps) is steps and steps_of(elsewhere) is elsewhere


def test_what_a_run_holds_and_sends_for_all_of_its_attempts_is_not_that_of_an_attempt() -> None:
    found = compiled(
        "retry_policy: {limit: 2}\nlimits: {name: database, at_most: 1}\nmax_active_runs: 1\nhist_retention_days: 3\n"
        "schedule: '0 2 * * *'\nnotify: {url: 'https://ops.example.org/x'}\nsteps: [{name: a, command: ls}]\n"
    )
    outer = found.workflows[0]
    steps = steps_of(outer)
    assert outer.limits and outer.max_active_runs and outer.schedules and outer.keep and outer.notify
    assert not (steps.limits or steps.max_active_runs or steps.schedules or steps.keep or steps.notify)


def test_every_document_of_a_file_has_its_findings_whatever_is_wrong_with_its_name() -> None:
    documents = [
        "steps: [{call: one}]\nstpes: 1",
        "name: twice\nsteps: [{call: two}]",
        "nme: third\nsteps: [{call: three}]",
        "name: twice\nsteps: [{call: four}]",
        "steps: [{call: five}]",
        "name: 9 lives\nsteps: [{call: six}]",
    ]
    found = compile_file("\n---\n".join(documents), name="main").findings
    called = [each.message.split("'")[1] for each in found if each.code == "unknown_workflow"]
    assert called == ["one", "two", "three", "four", "five", "six"]
    codes = {each.code for each in found if each.severity == "error"}
    assert codes == {"unknown_key", "unknown_workflow", "missing_key", "duplicate_workflow", "bad_value"}


@pytest.mark.parametrize("retried", ["", "retry_policy: {limit: 1, interval_sec: 1}\n"])
def test_a_changed_sub_workflow_of_a_file_is_a_new_version_of_those_that_call_it(retried: str) -> None:
    def versions(said: str) -> dict[str, str]:
        text = (
            f"{retried}steps: [{{name: a, call: outer}}]\n---\nname: outer\nsteps: [{{name: b, call: inner}}]\n"
            f"---\nname: inner\nsteps: [echo {said}]\n---\nname: other\nsteps: [echo other]\n"
        )
        made = compile_file(text, name="main")
        assert made.workflows, made.findings
        return {each.spec.full_name: each.spec.version() for each in made.workflows}

    old, new = versions("old"), versions("new")
    assert versions("old") == old
    changed = {name.rpartition("::")[2] for name in old if old[name] != new[name]}
    assert changed == {"main", "outer", "inner"}
