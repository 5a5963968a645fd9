"""Write what the models drew from the discharge notes as the extract files that they also read.

    python -m benchmarks.cdm_extracts WAREHOUSE FOLDER

Synthetic data comes without extracts, and the baseline has no rules that make them. So that both
start from the same sections and lists, the baseline reads those of a warehouse that is built.
FOLDER gets discharge_free_text, discharge_diagnosis and procedures as .csv.gz, and cohort.txt.
"""

from __future__ import annotations

import argparse
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


def write_extracts(warehouse: Path, folder: Path) -> int:
    """Write the files, and the admissions of the cohort in their order; return their number."""
    folder.mkdir(parents=True, exist_ok=True)
    with duckdb.connect(str(warehouse), read_only=True) as connection:
        for table, query in EXTRACTS.items():
            place = str(folder / f"{table}.csv.gz").replace("'", "''")
            connection.execute(
                f"copy ({query}) to '{place}' (format csv, header, compression gzip)"
            )
        rows = connection.execute(
            "select hadm_id from cdm.int_cdm__cohort order by list_position"
        ).fetchall()
    lines = "".join(f"{hadm_id}\n" for (hadm_id,) in rows)
    (folder / COHORT).write_text(lines, encoding="utf-8")
    return len(rows)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("warehouse", type=Path, help="DuckDB file with the CDM models")
    parser.add_argument("folder", type=Path, help="folder to write")
    arguments = parser.parse_args()
    write_extracts(arguments.warehouse, arguments.folder)


if __name__ == "__main__":
    main()
