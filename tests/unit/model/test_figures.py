"""A figure is declared once: sums, metrics and tables follow from its declaration."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec
import pytest

from turnout.cli.health_tables import figure_columns
from turnout.model.exposition import exposed, families, samples
from turnout.model.figures import Figure, Part, TableColumn, Unit, breaker_figure, combine, largest


class Machine(msgspec.Struct, frozen=True):
    METRIC_PREFIX: ClassVar[str] = "turnout_machine_"
    id: str = ""
    belts: Annotated[int, Figure("belts", "Belts that move."), TableColumn("belts", order=1)] = 0
    heat: Annotated[float | None, Figure("heat_ratio", "Share of the allowed heat.", largest)] = None
    parcels: Annotated[int, Figure("parcels_total", "Parcels, by fate.", label="fate=sent")] = 0
    broken: Annotated[int, Figure("parcels_total", label="fate=broken"), TableColumn("broken", Unit.FAILURES)] = 0
    breaker: Annotated[str, breaker_figure("breaker_state", "machine")] = "closed"
    note: str = ""

    @property
    def hands(self) -> Annotated[int, Figure("turnout_hands", "Hands at the belts.")]:
        return 2 * self.belts


class Hall(msgspec.Struct, frozen=True):
    METRIC_PREFIX: ClassVar[str] = "turnout_hall_"
    machines: Annotated[dict[str, Machine], Part(Machine, "machine")] = {}
    spare: Annotated[tuple[Machine, ...], Part(Machine, "spare")] = ()
    doors: Annotated[int, Figure("doors", "Doors.")] = 0


ONE = Machine(id="m", belts=3, heat=0.5, parcels=10, broken=1, breaker="open", note="own")
OTHER = Machine(belts=1, heat=0.75, parcels=5)


def test_statuses_are_combined_as_their_figures_say() -> None:
    both = combine([ONE, OTHER])
    assert (both.belts, both.heat, both.parcels, both.broken, both.breaker) == (4, 0.75, 15, 1, "open")
    assert both.note == "", "what is not declared has its default"


def test_a_sum_is_known_only_if_all_have_the_value() -> None:
    class Scale(msgspec.Struct, frozen=True):
        weight: Annotated[int | None, Figure()] = None

    Scale.__module__ = __name__
    assert combine([Scale(2), Scale(3)]).weight == 5
    assert combine([Scale(2), Scale()]).weight is None


def test_parts_are_combined_key_by_key() -> None:
    both = combine([Hall({"a": ONE}, doors=1), Hall({"a": OTHER, "b": OTHER}, doors=2)])
    assert (both.doors, {name: one.belts for name, one in both.machines.items()}) == (3, {"a": 4, "b": 1})


def test_a_declared_figure_is_exposed_with_its_labels() -> None:
    lines = exposed(families(Hall), samples(Hall({"a": ONE}, (ONE,), doors=2))).splitlines()
    assert lines[:3] == [
        "# HELP turnout_machine_belts Belts that move.",
        "# TYPE turnout_machine_belts gauge",
        'turnout_machine_belts{machine="a"} 3',
    ]
    for line in (
        'turnout_machine_belts{spare="m"} 3',
        "# TYPE turnout_machine_parcels_total counter",
        'turnout_machine_parcels_total{machine="a",fate="sent"} 10',
        'turnout_machine_parcels_total{machine="a",fate="broken"} 1',
        'turnout_machine_breaker_state{machine="a",state="open"} 1',
        'turnout_machine_breaker_state{machine="a",state="closed"} 0',
        'turnout_hands{machine="a"} 6',
        "turnout_hall_doors 2",
    ):
        assert line in lines
    assert not any("heat" in line for line in exposed(families(Machine), samples(Machine())).splitlines())


def test_a_declared_column_is_in_the_table_at_its_place() -> None:
    columns = figure_columns([ONE, OTHER])
    assert [column.title for column in columns] == ["broken", "belts"]
    assert columns[0].cells == [("1", "red"), ("0", "")]


@pytest.mark.parametrize("kind", [Machine, Hall])
def test_a_status_with_figures_travels_as_before(kind: type[msgspec.Struct]) -> None:
    status = kind()
    assert msgspec.json.decode(msgspec.json.encode(status), type=kind) == status
