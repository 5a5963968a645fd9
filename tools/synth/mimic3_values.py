"""All texts that a VALUE cell can hold, in one pool; an event then carries only a place in it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from synth.writing import text_cells

# The first is an empty cell; pandas 1 reads the others as missing too.
MISSING_TEXTS = ("", "NA", "NULL", "nan", "NaN", "N/A", "null", "n/a", "#N/A", "<NA>")

WORDS: dict[str, tuple[str, ...]] = {
    "eye carevue": ("1 No Response", "2 To pain", "3 To speech", "4 Spontaneously"),
    "eye metavision": ("None", "To Pain", "To Speech", "Spontaneously"),
    "motor carevue": (
        *("1 No Response", "2 Abnorm extensn", "3 Abnorm flexion", "4 Flex-withdraws"),
        *("5 Localizes Pain", "6 Obeys Commands"),
    ),
    "motor metavision": (
        *("No response", "Abnormal extension", "Abnormal Flexion", "Flex-withdraws"),
        *("Localizes Pain", "Obeys Commands"),
    ),
    "verbal carevue": (
        *("1.0 ET/Trach", "1 No Response", "2 Incomp sounds", "3 Inapprop words"),
        *("4 Confused", "5 Oriented"),
    ),
    "verbal metavision": (
        *("No Response-ETT", "No Response", "Incomprehensible sounds", "Inappropriate Words"),
        *("Confused", "Oriented"),
    ),
    "refill": ("Brisk", "Normal <3 secs", "Delayed", "Abnormal >3 secs"),
    "breath sounds": ("Clear", "Diminished", "Rhonchi", "Crackles"),
    "skin": ("Intact", "Warm/Dry", "Impaired", "Mottled"),
    "restraint": ("None", "Soft Wrist", "Mitts", "Reapplied"),
    "rhythm": ("Normal Sinus", "Sinus Tachy", "Atrial Fib", "Paced"),
    "specimen": ("CLEAR", "HAZY", "CLOUDY", "NEG"),
}

# Rare texts of a variable that no program stops on; each variable reads them in its own way.
ODD_TEXTS: dict[str, tuple[str, ...]] = {
    "Systolic blood pressure": ("120/80", "96/54", "143/71"),
    "Diastolic blood pressure": ("120/80", "96/54", "143/71"),
    "Glucose": (">500", "<1", "12.", ".5", "-5", " 90", "1e2", "ERROR", "126 "),
    "pH": ("7.", ">7.8", "UNABLE TO REPORT"),
    "Oxygen saturation": (".97", "0.95", "1", "1.0", ">100", "98.5"),
    "Heart Rate": (">60/minute", "Other/Remarks", "9"),
    "Respiratory rate": ("inf", ">60/minute", "Other/Remarks"),
    "Mean blood pressure": ("Other/Remarks",),
    "Capillary refill rate": ("Normal <3 Seconds", "Abnormal >3 Seconds", "brisk"),
    "Glascow coma scale eye opening": ("None", "Spontaneously", "4 Spontaneously", "4", "3.0"),
    "Glascow coma scale motor response": ("None", "Obeys Commands", "6", "1 No Response"),
    "Glascow coma scale verbal response": ("None", "1.0 ET/Trach", "5", "5 Oriented"),
    "Glascow coma scale total": ("15.0", "11T", "None"),
}


@dataclass(frozen=True)
class Segment:
    """A run of the pool: `resolution` steps to a unit, from `low` to `high` steps."""

    start: int
    resolution: int
    low: int
    high: int
    is_number: bool


class ValuePool:
    """The texts of the VALUE column and the numbers of VALUENUM, built once."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._places: dict[str, int] = {}
        self.segments = {
            "whole": self._numbers(1, 0, 4000),
            "tenth": self._numbers(10, 0, 4000),
            "hundredth": self._numbers(100, 600, 800),
            "fraction": self._numbers(100, 0, 100),
            # Celsius worked out from Fahrenheit in single precision, 13 or more decimals.
            "celsius": Segment(
                self.add(_long(np.float32((f / 10 - 32) / 1.8)) for f in range(850, 1150)),
                10,
                850,
                1149,
                True,
            ),
            # Fractions as CareVue prints them: single precision without the leading zero.
            "torr": Segment(
                self.add(_long(np.float32(f / 100)).removeprefix("0") for f in range(20, 101)),
                100,
                20,
                100,
                True,
            ),
        }
        for name, words in WORDS.items():
            self.segments[name] = Segment(self.add(words), 1, 0, len(words) - 1, False)
        self.missing = self.add(MISSING_TEXTS)
        self.odd = {variable: self.add(texts) for variable, texts in ODD_TEXTS.items()}

    def add(self, texts: Iterable[str]) -> int:
        """Append texts, kept together, and return the place of the first."""
        start = len(self._texts)
        for text in texts:
            self._places.setdefault(text, len(self._texts))
            self._texts.append(text)
        return start

    def place(self, text: str) -> int:
        """Return the place of a text, appending it if it is new."""
        if text not in self._places:
            self.add([text])
        return self._places[text]

    def texts(self) -> pa.Array:
        """Return the cells of VALUE."""
        return text_cells(self._texts)

    def numbers(self) -> pa.Array:
        """Return the cells of VALUENUM: the number that a text is or starts with, else empty."""
        return text_cells(map(number_of, self._texts))

    def _numbers(self, resolution: int, low: int, high: int) -> Segment:
        texts = (f"{step / resolution:g}" for step in range(low, high + 1))
        return Segment(self.add(texts), resolution, low, high, True)


def number_of(text: str) -> str:
    """Return what VALUENUM holds for a text: ``"4 Spontaneously"`` has 4, ``">500"`` nothing."""
    found = re.match(r"[-+]?(\d+\.?\d*|\.\d+)(e\d+)?(?=\s|/|$)", text.strip())
    if not found:
        return ""
    number = float(found.group())
    return f"{number:.15g}" if math.isfinite(number) else ""


def _long(number: np.float32) -> str:
    return f"{float(number):.17g}"
