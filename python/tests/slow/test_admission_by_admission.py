"""`oracles/admission_by_admission.py`, a second way to the CDM cases, beside the SQL.

It is written from the reference's rules and shares no code with the models, so that where both
agree, a slip of one of them is unlikely.
"""

from __future__ import annotations

import csv
import gzip
import random
import struct
from dataclasses import dataclass
from pathlib import Path

import pytest
from benchmarks.cdm_extracts import write_extracts
from builds import SYNTHETIC_IV, build_floor
from case_files import MODES, Case, read_cases
from cdm_random_notes import write_random_notes
from oracles.admission_by_admission import read_list
from oracles.cdm.cases import Made, make_cases, write_cases
from oracles.cdm.databases import Database
from oracles.cdm.events import MODES as ORACLE_MODES
from oracles.cdm.numbers import number_text
from oracles.cdm.tables import prepare
from postgres_server import connect

from medeval.tasks.cdm.export import float8_text

pytestmark = pytest.mark.slow


def make(source: Path, hadm_ids: list[int], *, with_indexes: bool = False) -> dict[str, Made]:
    database = Database(source)
    prepare(database, hadm_ids, with_indexes=with_indexes)
    return {name: make_cases(database, hadm_ids, mode) for name, mode in ORACLE_MODES.items()}


def written(cases: list[Case], folder: Path) -> list[Case]:
    """Return cases as they are read from the file that the oracle writes."""
    write_cases(cases, folder / "cases.json")
    return read_cases(folder / "cases.json")


@dataclass(frozen=True)
class Both:
    """The same admissions made by the models and by the loop, under the reference's rules."""

    exports: dict[str, list[Case]]
    loop: dict[str, Made]


def make_both(source: Path, folder: Path, listed: Path) -> Both:
    """Build and export the listed admissions of a source, and loop over them.

    Without extracts the loop reads what the models drew from the notes: how they do so is not
    what is compared here.
    """
    variables = {"cdm_rules": "reference", "cdm_cohort_file": str(listed)}
    build = build_floor("cdm", folder, source, variables=variables, models_only=True)
    exports = {mode: read_cases(build.export(option)) for mode, option in MODES.items()}
    if not (source / "note_extract").exists():
        write_extracts(folder / "medeval.duckdb", folder / "source" / "note_extract")
        for module in ("hosp", "note"):
            (folder / "source" / module).symlink_to(source / module)
        source = folder / "source"
    return Both(exports, make(source, read_list(listed)))


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The list of all admissions of the demo."""
    path = tmp_path_factory.mktemp("list") / "all.txt"
    with gzip.open(SYNTHETIC_IV / "hosp" / "admissions.csv.gz", "rt", encoding="utf-8") as file:
        path.write_text("".join(f"{row['hadm_id']}\n" for row in csv.DictReader(file)))
    return path


@pytest.fixture(scope="module", params=["demo", "random texts"])
def both(
    request: pytest.FixtureRequest, listed: Path, tmp_path_factory: pytest.TempPathFactory
) -> Both:
    """The demo, and its admissions with notes made of the words that the rules look for."""
    folder = tmp_path_factory.mktemp("both")
    if request.param == "demo":
        return make_both(SYNTHETIC_IV, folder, listed)
    source = folder / "given"
    write_random_notes(source, read_list(listed), per_admission=8)
    for place in ("hosp", "note/discharge.csv.gz"):
        (source / place).symlink_to(SYNTHETIC_IV / place)
    return make_both(source, folder, listed)


@pytest.mark.parametrize("mode", MODES)
def test_sql_gives_the_same_cases(mode: str, both: Both, tmp_path: Path) -> None:
    ours, theirs = both.exports[mode], written(both.loop[mode].cases, tmp_path)
    assert len(ours) > 130
    assert [case["hadm_id"] for case in ours] == [case["hadm_id"] for case in theirs]
    for mine, other in zip(ours, theirs, strict=True):
        assert list(mine) == list(other)
        for field in mine:
            assert mine[field] == other[field], (mine["hadm_id"], field)


def test_numbers_are_written_as_postgres_does(postgres_database: dict[str, str]) -> None:
    dice = random.Random(0)
    numbers = [struct.unpack("<d", dice.randbytes(8))[0] for _ in range(2000)]
    numbers += [dice.randint(-999, 9999) / 10 ** dice.randint(0, 6) for _ in range(2000)]
    numbers += [0.0, -0.0, 1e-4, 9.99e-5, 1e15, 999999999999999.0, 1e16, float("inf")]
    with connect(postgres_database) as connection:
        rows = connection.execute(
            "select x::text from unnest(%s::float8[]) with ordinality as u (x, n) order by n",
            [numbers],
        ).fetchall()
    for text in (number_text, float8_text):
        assert [text(number) for number in numbers] == [row[0] for row in rows]
