"""The key ``notify`` of a workflow file."""

from __future__ import annotations

import pytest

from turnout.authoring.yaml.compiler import compile_file
from turnout.authoring.yaml.local_execution import local_executions
from turnout.authoring.yaml.marks import Marks
from turnout.authoring.yaml.reader import read_file
from turnout.model.notifications import Notify


def test_a_notification_is_a_hook_that_starts_a_run() -> None:
    text = "notify: {url: https://ops.example.org/x, on: [success, failure], format: slack}\nsteps: [echo a]"
    [made] = compile_file(text, name="nightly").workflows
    assert made.notify == (Notify("https://ops.example.org/x", on=("success", "failure"), format="slack"),)
    hooks = {task.name: task for task in made.spec.tasks if task.hook is not None}
    assert list(hooks) == ["on_success.notify", "on_failure.notify"]
    body = hooks["on_failure.notify"].body
    assert (body.kind, body.ref, body.detached) == ("workflow", "public::embedded.nightly::notify", True)


@pytest.mark.parametrize(
    ("notify", "where"),
    [
        ("{url: ops.example.org}", "notify[0].url"),
        ("{url: https://a.example, on: finish}", "notify[0].on"),
        ("{url: https://a.example, secret: hunter2}", "notify[0].secret"),
        ("{url: https://a.example, format: xml}", "notify[0].format"),
        ("{on: failure}", "notify[0]"),
        ("{url: https://a.example, on: stuck}", "notify[0]"),
        ("{url: https://a.example, on: stuck, after: 10ms}", "notify[0]"),
        ("{url: https://a.example, on: stuck, after: soon}", "notify[0].after"),
        ("{url: https://a.example, after: 10m}", "notify[0]"),
        ("{url: 'mailto:ops'}", "notify[0]"),
    ],
)
def test_a_notification_that_cannot_work_is_found_with_its_place(notify: str, where: str) -> None:
    found = compile_file(f"notify: [{notify}]\nsteps: [echo a]", name="nightly")
    assert not found.workflows and any(each.where.startswith(where) for each in found.findings), found.findings


def test_an_uploaded_text_names_no_secret_of_the_server() -> None:
    text = "notify: [{url: 'env:HOOK'}, {url: https://a.example, secret: 'file:/key'}]\nsteps: [echo a]"
    [document] = read_file(text, name="nightly").documents
    found = local_executions(document, Marks({}), hub=True)
    assert [(each.code, each.where) for each in found] == [
        ("local_secret", "notify[0].url"),
        ("local_secret", "notify[1].secret"),
    ]


def test_the_deliveries_to_all_targets_have_one_name_by_which_they_are_listed() -> None:
    text = "notify: [{url: https://a.example}, {url: https://b.example}]\nsteps: [echo a]"
    [made] = compile_file(text, name="nightly").workflows
    hooks = {task.name: task.body.ref for task in made.spec.tasks if task.hook is not None}
    assert hooks == {
        "on_failure.notify": "public::embedded.nightly::notify",
        "on_failure.notify-2": "public::embedded.nightly.2::notify",
    }
