"""What the models drew from the discharge notes, as the extract files that they also read.

Synthetic data comes without extracts, and the baseline has no rules that make them. So that both
start from the same sections and lists, the baseline reads those of a warehouse that is built.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

COHORT = "cohort.txt"
EXTRACTS = {
    "discharge_free_text": """
        select hadm_id, history_of_present_illness, past_medical_history, physical_examination
        from cdm.int_cdm__free_text
        order by hadm_id
    """,
    "discharge_diagnosis": """
        select hadm_id, title, is_primary, seq_num
        from cdm.int_cdm__discharge_diagnoses
        order by hadm_id, seq_num
    """,
    "procedures": """
        select hadm_id, title, is_previous, seq_num
        from cdm.int_cdm__discharge_procedures
        order by hadm_id, seq_num
    """,
}


def write_extracts(warehouse: str | Path, folder: str | Path) -> None:
    """Write the tables as .csv.gz, and the admissions of the cohort in their order."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    with duckdb.connect(str(warehouse), read_only=True) as connection:
        for table, query in EXTRACTS.items():
            place = str(Path(folder, f"{table}.csv.gz")).replace("'", "''")
            connection.execute(
                f"copy ({query}) to '{place}' (format csv, header, compression gzip)"
            )
        query = "select hadm_id from cdm.int_cdm__cohort order by list_position"
        rows = connection.execute(query).fetchall()
    lines = "".join(f"{hadm_id}\n" for (hadm_id,) in rows)
    Path(folder, COHORT).write_text(lines, encoding="utf-8")
