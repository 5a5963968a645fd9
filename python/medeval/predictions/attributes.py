"""What the warehouse knows of the stays, in groups that are large enough to compare."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from medeval.builds import newest_build
from medeval.errors import UserError
from medeval.predictions.choices import Grouping
from medeval.predictions.joining import Joined
from medeval.predictions.subgroups import UNKNOWN
from medeval.warehouse import Warehouse, flat, schema_name

AGE_BANDS = ((18, "18-44"), (45, "45-64"), (65, "65-74"), (75, "75-84"), (85, "85+"))

# MIMIC-III spells ethnicity in 41 ways; each begins with one of these or is left to `other`.
ETHNICITY_GROUPS = (
    ("WHITE", "white"),
    ("BLACK", "black"),
    ("CARIBBEAN", "black"),
    ("HISPANIC", "hispanic"),
    ("ASIAN", "asian"),
    ("AMERICAN INDIAN", "american_indian"),
    ("UNKNOWN", UNKNOWN),
    ("UNABLE TO OBTAIN", UNKNOWN),
    ("PATIENT DECLINED", UNKNOWN),
)


def sex(value: object) -> str:
    """Return GENDER as it is."""
    return str(value) if value else UNKNOWN


def age_band(value: object) -> str:
    """Return the band of an age in years."""
    if not isinstance(value, int | float):
        return UNKNOWN
    band = UNKNOWN
    for start, name in AGE_BANDS:
        if value >= start:
            band = name
    return band


def ethnicity(value: object) -> str:
    """Return the group of one of MIMIC-III's spellings."""
    text = str(value or "").strip().upper()
    if not text:
        return UNKNOWN
    for start, name in ETHNICITY_GROUPS:
        if text.startswith(start):
            return name
    return "other"


def care_unit(value: object) -> str:
    """Return LAST_CAREUNIT as it is."""
    return str(value) if value else UNKNOWN


GROUPINGS: dict[Grouping, tuple[str, Callable[[object], str]]] = {
    Grouping.SEX: ("gender", sex),
    Grouping.AGE_BAND: ("analysis_age", age_band),
    Grouping.ETHNICITY: ("ethnicity", ethnicity),
    Grouping.CARE_UNIT: ("last_careunit", care_unit),
}


def read_attributes(
    warehouse: Warehouse, joined: Joined, groupings: Sequence[Grouping]
) -> dict[Grouping, list[str]]:
    """Return for each grouping the group of every stay, in the order of `joined.names`.

    Raises:
        UserError: the warehouse lacks the table or a stay.
    """
    newest_build(warehouse, "mimic3", ["mimic3_stays"])
    columns = [GROUPINGS[grouping][0] for grouping in groupings]
    found = {
        str(row[0]): row[1:]
        for row in flat(warehouse.select(["stay", *columns], schema_name("mimic3"), "mimic3_stays"))
    }
    used = [joined.names[stay] for stay in np.unique(joined.stays)]
    missing = [name for name in used if name not in found]
    if missing:
        raise UserError(
            f"--by: {len(missing):,} of {len(used):,} stays are not in the warehouse (target"
            f" {warehouse.target.name}): {'; '.join(missing[:10])}. Is it built from the same data?"
        )
    nothing = (None,) * len(columns)
    rows = [found.get(name, nothing) for name in joined.names]
    return {
        grouping: [GROUPINGS[grouping][1](row[place]) for row in rows]
        for place, grouping in enumerate(groupings)
    }
