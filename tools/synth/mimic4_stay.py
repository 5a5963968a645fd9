"""One admission of the MIMIC-IV data as Python values, and the diseases and special cases."""

from __future__ import annotations

from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

from synth.draws import Cases, Dice
from synth.files import read_yaml

SPECIAL: dict[str, Any] = read_yaml("mimic4_cases.yml")
CASES = Cases(SPECIAL)
CONDITIONS: list[dict[str, Any]] = read_yaml("mimic4_conditions.yml")
# What an admission is: of interest; a control with another disease; one with the pathology as a
# second code; one treated first in another hospital; one with the pathology of years ago.
INTEREST, OTHER, SECONDARY, TRANSFERRED, FORMER = range(5)


class Stay(SimpleNamespace):
    """One admission: the columns of `mimic4.make_admissions`, and its dice."""

    def __init__(self, dice: Dice, columns: dict[str, Any]) -> None:
        super().__init__(**columns)
        self.dice = dice
        place: int = columns["case"]
        self.case = "" if place == CASES.ORDINARY else CASES.names[place]
        self.disease = CONDITIONS[self.condition]
        # The pathology that a control has besides, else the disease itself.
        self.hidden = self.disease if self.concealed < 0 else CONDITIONS[self.concealed]
        # The second pathology of an admission that has two.
        self.second = CONDITIONS[1 if self.condition != 1 else 3]
        self.arrival = self.edregtime or self.admittime

    def time(self, anchor: str, seconds: str) -> datetime | None:
        """Return the time so many seconds after an anchor, None without one.

        The anchors: arrival, admission, discharge, and procedure, which is 00:00 of its day.
        """
        if not anchor:
            return None
        anchors = {
            "arrival": self.arrival,
            "admission": self.admittime,
            "discharge": self.dischtime,
            "procedure": midnight(self.admittime, max(self.procedure_day, 0)),
        }
        return later(anchors[anchor], int(seconds))


def later(time: datetime, seconds: int) -> datetime:
    """Return a time some seconds later."""
    return time + timedelta(seconds=seconds)


def midnight(time: datetime, days: int = 0) -> datetime:
    """Return 00:00:00 of the day of a time, or of a day after it."""
    return datetime(time.year, time.month, time.day) + timedelta(days=days)  # noqa: DTZ001
