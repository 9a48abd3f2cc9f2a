"""Declares what a check of ``turnout doctor`` finds."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Grade(StrEnum):
    GOOD = "good"
    FAIR = "fair"
    BAD = "bad"


class Check(msgspec.Struct, frozen=True):
    name: str
    grade: Grade
    text: str

    @property
    def unavailable(self) -> bool:
        """True if something that is configured cannot be reached."""
        return self.grade is Grade.BAD and (self.name == "database" or self.name.startswith("executor "))
