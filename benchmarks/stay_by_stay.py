"""The time series of every stay as a short script would write them: one query and one file a stay.

The baseline of bench_export, with pandas. It reads the same published table of the same warehouse
and must write the same bytes; there is no manifest, no hash, and what is there is overwritten.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

from medeval.tasks.mimic3.export import HEADER, UNCLEANED, VARIABLES

STAYS = """
    select distinct partition, subject_id, episode, icustay_id
    from mimic3.mimic3_episode_timeseries
    order by all
"""
ROWS = """
    select * from mimic3.mimic3_episode_timeseries
    where icustay_id = ?
    order by hours, event_icustay_id
"""


def write(warehouse: str, out: str) -> None:
    """Write the time series of every stay where the export has them."""
    with duckdb.connect(warehouse, read_only=True) as connection:
        for partition, subject, episode, stay in connection.execute(STAYS).fetchall():
            rows = connection.execute(ROWS, [stay]).df()
            for column in UNCLEANED:
                texts = rows[f"{column}_text"]
                rows[column] = texts.where(texts.notna(), rows[column].astype(object))
            place = Path(out, "root", partition, str(subject), f"episode{episode}_timeseries.csv")
            place.parent.mkdir(parents=True, exist_ok=True)
            table = rows[["hours", *VARIABLES]]
            table.columns = HEADER.strip().split(",")
            table.to_csv(place, index=False)
