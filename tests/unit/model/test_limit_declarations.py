"""The sizes that workflows declare for limits, and where they differ."""

from __future__ import annotations

from turnout import Limit, task, workflow
from turnout.model.limit_declarations import LimitDeclaration, conflicts, contradictions, declarations
from turnout.model.limits import LimitSize


def declared(place: str, at_most: int, name: str = "db", *, uploaded: bool = False) -> LimitDeclaration:
    return LimitDeclaration(
        workflow="public::embedded::a", declared=name, place=place, size=LimitSize(at_most), uploaded=uploaded
    )


def test_the_limits_with_a_size_of_a_workflow_and_its_tasks_are_declared() -> None:
    @task(limits=[Limit("db", at_most=2), "configured"])
    def load() -> None: ...

    @workflow(limits=[Limit("db", at_most=3), Limit("mail", rate=5, per="1m")], max_active_runs=4)
    def nightly() -> None:
        load()
        load()

    found = declarations(nightly.spec_for("public"))
    assert [(each.place, each.declared, each.size.at_most, each.size.rate, each.size.per) for each in found] == [
        ("workflow 'nightly'", "db", 3, None, 1.0),
        ("workflow 'nightly'", "mail", None, 5, 60.0),
        ("task 'public::embedded::nightly::load'", "db", 2, None, 1.0),
    ]


def test_different_sizes_of_one_limit_are_reported_unless_the_configuration_settles_them() -> None:
    found = [declared("workflow 'a'", 3), declared("workflow 'b'", 5), declared("workflow 'c'", 3)]
    text = conflicts(found, {})["db"]
    assert "3 at once by workflow 'a'; 5 at once by workflow 'b'; 3 at once is in force" in text
    assert "[limits.db]" in text
    assert conflicts(found, {"db": LimitSize(4)}) == {} and conflicts(found[:1], {}) == {}


def test_a_name_with_a_parameter_is_quoted_as_the_configuration_needs_it() -> None:
    found = [declared("workflow 'a'", 3, "customer-${id}"), declared("workflow 'b'", 5, "customer-${id}")]
    assert '[limits."customer-${id}"]' in conflicts(found, {})["customer-${id}"]


def test_what_an_uploaded_definition_declares_counts_only_if_nothing_else_declares_the_limit() -> None:
    found = [declared("workflow 'a'", 1, uploaded=True), declared("workflow 'b'", 3), declared("workflow 'c'", 5)]
    assert "; 3 at once is in force" in conflicts(found, {})["db"]
    uploads = [declared("workflow 'a'", 1, uploaded=True), declared("workflow 'b'", 2, uploaded=True)]
    assert "; 1 at once is in force" in conflicts(uploads, {})["db"]


def test_an_upload_contradicts_the_size_that_is_in_force_without_it() -> None:
    mine = [declared("workflow 'new'", 1, uploaded=True)]
    others = [declared("workflow 'a'", 3), declared("workflow 'b'", 1, uploaded=True)]
    (text,) = contradictions(mine, others, ()).values()
    assert "workflow 'new' declares the limit 'db' with 1 at once, and workflow 'a' with 3 at once" in text
    assert "[limits.db]" in text
    assert contradictions(mine, others, {"db"}) == {} and contradictions(mine, [], ()) == {}
    assert contradictions([declared("workflow 'new'", 3, uploaded=True)], others, ()) == {}
