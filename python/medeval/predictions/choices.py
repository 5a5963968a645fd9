"""What the options of `score` may be; imports nothing, so that `--help` starts at once."""

from __future__ import annotations

from enum import StrEnum


class Cluster(StrEnum):
    """What is drawn as one unit in a resample, if not the row."""

    STAY = "stay"
    SUBJECT = "subject"


class Interval(StrEnum):
    """How an interval is made of the resampled values."""

    PERCENTILE = "percentile"
    BCA = "bca"


class Grouping(StrEnum):
    """What the rows can be divided by."""

    SEX = "sex"
    AGE_BAND = "age_band"
    ETHNICITY = "ethnicity"
    CARE_UNIT = "care_unit"
