"""Synthetic raw data in MIMIC-III 1.4's layout: ten tables, written one after the other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from medeval.errors import UserError
from synth.mimic3_batches import EVENT_COLUMNS, Renderer
from synth.mimic3_diagnoses import draw_diagnoses, make_dictionary
from synth.mimic3_edits import apply_edits
from synth.mimic3_events import PIECE, OrdinaryEvents
from synth.mimic3_facts import read_facts
from synth.mimic3_items import CHART, LAB, OUTPUT, Catalogue
from synth.mimic3_model import draw_levels
from synth.mimic3_patients import HIGHEST_SUBJECT, make_population
from synth.mimic3_plan import plan_events
from synth.mimic3_special_events import special_events
from synth.mimic3_tables import small_tables
from synth.mimic3_values import ValuePool
from synth.writing import TableWriter

LEAST_PATIENTS = 20
EVENT_TABLES = {CHART: "chartevents", LAB: "labevents", OUTPUT: "outputevents"}
SMALL = 1_000_000  # up to so many rows the files are packed tightly, beyond it quickly


def write_mimic3(
    folder: Path,
    scale: int,
    seed: int,
    events_per_stay: int,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, int]:
    """Write the ten tables into an existing folder and return their row counts.

    Args:
        folder: where the ``.csv.gz`` files go.
        scale: the number of patients.
        seed: any number from 0; the same arguments give the same bytes.
        events_per_stay: about how many chart events an ICU stay has on average.
        progress: called now and then with event rows done and in all.

    Raises:
        UserError: a scale outside 20 to 99,999, or a seed of the project is missing.
    """
    if not LEAST_PATIENTS <= scale <= HIGHEST_SUBJECT:
        raise UserError(
            f"--scale {scale} is not possible. Give a number of patients from {LEAST_PATIENTS} "
            f"to {HIGHEST_SUBJECT} (MIMIC-III's subject ids end there)."
        )
    facts = read_facts()
    population = make_population(seed, scale, facts)
    apply_edits(population)
    dictionary = make_dictionary(seed, facts)
    diagnoses = draw_diagnoses(seed, population, dictionary)
    plans = plan_events(seed, population, events_per_stay)
    pool = ValuePool()
    catalogue = Catalogue(facts, pool)
    special = special_events(seed, population, catalogue, pool)
    total = sum(plan.rows for plan in plans.values()) + sum(len(b.item) for b in special.values())
    level = 9 if total <= SMALL else 1
    rows: dict[str, int] = {}

    tables = small_tables(seed, population, facts, dictionary, diagnoses, catalogue, plans)
    for name, columns in tables:
        with TableWriter(folder / f"{name}.csv.gz", tuple(columns), level) as writer:
            writer.write(tuple(columns.values()))
            rows[name] = writer.rows

    admissions = population.admissions
    levels = draw_levels(seed, admissions.severity, admissions.died, admissions.phenotypes)
    renderer = Renderer(population, catalogue, pool)
    done = 0
    for table, name in EVENT_TABLES.items():
        with TableWriter(folder / f"{name}.csv.gz", EVENT_COLUMNS[table], level) as writer:
            ordinary = OrdinaryEvents(seed, plans[table], catalogue, pool, levels)
            for batch in ordinary.pieces():
                writer.write(renderer.columns(table, batch))
                progress(done + writer.rows, total)
            for start in range(0, len(special[table].item), PIECE):
                batch = special[table].take(slice(start, start + PIECE))
                writer.write(renderer.columns(table, batch))
            done += writer.rows
            progress(done, total)
            rows[name] = writer.rows
    return rows
