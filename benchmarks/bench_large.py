"""Both warehouses from more data than there is memory for: 100 million events, 50 million results.

python -m benchmarks.bench_large                              # both, and the page; takes long
python -m benchmarks.bench_large --only mimic3 --cache DIR    # one, the other is kept
python -m benchmarks.bench_large --render                     # the page, nothing is measured
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from benchmarks.copies import EVENTS
from benchmarks.pages import Benchmark, say
from benchmarks.warehouses import Workplace, synthesize, synthetic_rows

# MIMIC-III has 5,400 chart events a stay and 1.3 stays a patient.
EVENTS_PER_STAY = 5_000
STAYS_PER_PATIENT = 1.3
# Of the synthetic admissions of one unit of scale, and laboratory rows of an admission.
ADMISSIONS, LABS = 1.3, 420
MILLION = 1_000_000
# Of each kind of source what names its folder.
VARIABLES = {
    "mimic3": ("MEDEVAL_MIMIC3_DIR",),
    "mimic4": ("MEDEVAL_MIMIC4_DIR", "MEDEVAL_MIMIC4_NOTE_DIR"),
}


def chart_events(
    chart_events: tuple[int, ...] = (10 * MILLION, 100 * MILLION),
    memory_limit: str = "4GB",
    cache: str = "",
) -> dict[str, Any]:
    """MIMIC-III, from files to listfiles, once at each size."""
    scales = [max(20, round(rows / EVENTS_PER_STAY / STAYS_PER_PATIENT)) for rows in chart_events]
    return measured("mimic3", "mimic3", scales, EVENTS_PER_STAY, EVENTS, memory_limit, cache)


def laboratory_rows(
    laboratory_rows: tuple[int, ...] = (5 * MILLION, 50 * MILLION),
    memory_limit: str = "4GB",
    cache: str = "",
) -> dict[str, Any]:
    """MIMIC-IV, from files to cases, once at each size."""
    scales = [max(20, round(rows / LABS / ADMISSIONS)) for rows in laboratory_rows]
    return measured("cdm", "mimic4", scales, LABS, ("hosp/labevents",), memory_limit, cache)


def measured(
    benchmark: str,
    kind: str,
    scales: list[int],
    rows_each: int,
    counted: tuple[str, ...],
    memory_limit: str,
    cache: str,
) -> dict[str, Any]:
    """Make the data, build and export them, once at each size, and at none of any size."""
    sizes = []
    with tempfile.TemporaryDirectory(prefix="medeval-bench-") as temporary:
        limit = {"MEDEVAL_MEMORY_LIMIT": memory_limit}
        workplace = Workplace(Path(temporary) / benchmark, benchmark, limit)
        start_up = workplace.build()
        say(f"{benchmark}, start-up: {start_up}")
        for scale in scales:
            data = Path(cache or temporary).resolve() / f"{kind}_{scale}_{rows_each}"
            synth = synthesize(kind, data, scale, rows_each)
            rows = synthetic_rows(data)
            found = {"scale": scale, "rows": sum(rows[table] for table in counted), "synth": synth}
            say(f"{benchmark}: {found['rows']:,} rows, made in {synth}")
            build = workplace.build(**dict.fromkeys(VARIABLES[kind], data))
            say(f"{benchmark}: build {build}, spilled {build.spill_mb:,.0f} MB")
            export = workplace.export()
            say(f"{benchmark}: export {export}")
            sizes.append({**found, "build": build, "export": export})
    return {"memory_limit": memory_limit, "start_up": start_up, "sizes": sizes}


BENCHMARK = Benchmark(
    "large",
    "large",
    {"mimic3": chart_events, "cdm": laboratory_rows},
    lambda part: ("medeval", "dbt-core", "dbt-duckdb", "duckdb"),
    takes_long=True,
)

if __name__ == "__main__":
    BENCHMARK.main(__doc__)
