"""Was the patient examined, and before anything else?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from medeval.cdm.tools import PHYSICAL_EXAMINATION


def examination_scores(calls: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """Return the points for an examination as the first call, and for one at any time."""
    places = [
        place
        for place, call in enumerate(calls)
        if call["tool"] == PHYSICAL_EXAMINATION and call["is_valid"]
    ]
    return int(0 in places), int(bool(places))
