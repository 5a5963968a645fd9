"""What dbt reads, refuses and shows on DuckDB, step by step as tables say."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import cdm_folder
import mimic3_folder
import pytest
from dbt_worker import Worked
from folder_changes import change, filled
from tables import table

ROWS = [
    pytest.param(row, id=row["id"], marks=[pytest.mark.slow] if "slow" in row else [])
    for group in table("builds")
    for row in [{**group.get("all", {}), **each} for each in group["rows"]]
]


@pytest.mark.parametrize("row", ROWS)
def test_dbt_does_what_its_row_says(built: Worked, row: dict[str, Any]) -> None:
    # No sign in a path is a pattern.
    folder = built.folder / "a*b?[c]"
    made = {"mimic3": mimic3_folder.write_folder, "mimic4": cdm_folder.write_folder}
    made.get(row.get("of", ""), Path.mkdir)(folder)
    change(folder, row.get("files", {}))
    for step in [{**row, "files": {}, **each} for each in row.get("steps", [{}])]:
        change(folder, step["files"])
        if "cell" in step:
            cell = mimic3_folder.with_cell(*step["cell"])
            mimic3_folder.replace(folder, step["cell"][0], cell)
        words = [*shlex.split(step["dbt"]), "--vars", json.dumps(step.get("vars", {}))]
        env = {name: filled(place, folder) for name, place in step.get("env", {}).items()}
        succeeded, output = built.dbt(*(filled(word, folder) for word in words), **env)
        assert succeeded == ("stops" not in step), output
        for part in step.get("stops", step.get("says", ())):
            assert filled(part, folder) in output, output
        assert [part for part in step.get("hides", ()) if part in output] == []
        for query, found in step.get("finds", {}).items():
            assert [list(each) for each in built.rows(query)] == found, query
