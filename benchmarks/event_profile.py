"""Where the time of the one pass over the largest files goes, by DuckDB's own profile."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb

# The model that makes the pass, and the operator below which rows are as in the file.
PASSES = {
    "mimic3": ("models/mimic3/events/int_mimic3__cleaned_events.sql", "UNION"),
    "cdm": ("models/cdm/events/int_cdm__lab_events.sql", "CREATE_TABLE_AS"),
}
READING, CELLS, JOINS = "CSV read and unzipped", "cells read as numbers and times", "joins"
RULES, WRITING = "values cleaned", "table written"


def profile(benchmark: str, folder: str, out: str) -> None:
    """Run the model of a built warehouse once more, on one thread, and write seconds by step.

    Args:
        benchmark: mimic3 or cdm.
        folder: of a `Workplace`, which has built it.
        out: the JSON file.
    """
    model, border = PASSES[benchmark]
    query = Path(folder, "target", "compiled", "medeval", model).read_text(encoding="utf-8")
    plan = Path(out).with_suffix(".plan.json")
    with duckdb.connect(f"{folder}/medeval.duckdb") as connection:
        for setting in (
            "threads = 1",
            "preserve_insertion_order = false",
            "disabled_optimizers = 'join_order,build_side_probe_side'",
            "enable_profiling = 'json'",
            f"profiling_output = '{plan}'",
        ):
            connection.execute(f"set {setting}")
        connection.execute(f"create temp table cleaned_again as {query}")
    seconds = dict.fromkeys((READING, CELLS, JOINS, RULES, WRITING), 0.0)
    operators = json.loads(plan.read_text(encoding="utf-8"))["operator"]
    for step, timing in _steps(operators, border, False):
        seconds[step] += timing
    Path(out).write_text(json.dumps(seconds), encoding="utf-8")


def _steps(
    operators: list[dict[str, Any]], border: str, is_of_source: bool
) -> Iterator[tuple[str, float]]:
    """Yield the step and the seconds of every operator; the sources are below the border."""
    for operator in operators:
        name = operator["name"].strip()
        if name == "READ_CSV":
            step = READING
        elif name == "CREATE_TABLE_AS":
            step = WRITING
        elif "JOIN" in name:
            step = JOINS
        else:
            step = CELLS if is_of_source else RULES
        yield step, operator["timing"]
        yield from _steps(operator.get("children", []), border, is_of_source or name == border)
