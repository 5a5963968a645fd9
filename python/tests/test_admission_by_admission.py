"""`oracles/admission_by_admission.py`, a second way to the CDM cases, beside the SQL.

It is written from the reference's rules and shares no code with the models, so that where both
agree, a slip of one of them is unlikely.
"""

from __future__ import annotations

import csv
import gzip
import json
import random
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from benchmarks.cdm_extracts import write_extracts
from cdm_random_notes import write_random_notes
from commands import run_dbt, run_medeval
from oracles.admission_by_admission import read_list
from oracles.cdm.cases import Made, make_cases, write_cases
from oracles.cdm.databases import DuckDB
from oracles.cdm.events import MODES
from oracles.cdm.exam_text import exam_text
from oracles.cdm.history_text import find_pathology, history_text, scrub
from oracles.cdm.numbers import number_text
from oracles.cdm.radiology_text import find_modality, find_region, kept_sections
from oracles.cdm.tables import prepare
from postgres_server import connect

pytestmark = pytest.mark.slow

Case = dict[str, Any]
GOLDEN_SETS = ("cdm_synth", "cdm_real")


@pytest.fixture(scope="module", params=GOLDEN_SETS)
def golden_set(request: pytest.FixtureRequest, shared: Path) -> Path:
    return shared / "golden" / str(request.param)


@pytest.fixture(scope="module")
def made(golden_set: Path) -> dict[str, Made]:
    return make(golden_set, read_list(golden_set / "hadm_id_list.txt"))


def make(source: Path, hadm_ids: list[int], *, with_indexes: bool = False) -> dict[str, Made]:
    database = DuckDB(None, source)
    prepare(database, hadm_ids, with_indexes=with_indexes)
    return {name: make_cases(database, hadm_ids, mode) for name, mode in MODES.items()}


def read_cases(path: Path) -> list[Case]:
    content = path.read_bytes()
    text = gzip.decompress(content) if path.suffix == ".gz" else content
    cases: list[Case] = json.loads(text)["cases"]
    return cases


def in_one_order(case: Case) -> Case:
    """Sort the arrays, whose order the reference leaves open."""

    def by(array: str, *keys: str) -> list[Any]:
        return sorted(
            case[array], key=lambda row: [(row[key] is None, row[key] or 0) for key in keys]
        )

    return {
        **case,
        "lab_results": by("lab_results", "charttime", "itemid", "sequence_num"),
        "microbiology_events": by(
            "microbiology_events", "charttime", "test_itemid", "sequence_num"
        ),
        "radiology_reports": by("radiology_reports", "note_id", "sequence_num"),
    }


@dataclass(frozen=True)
class Both:
    """The same admissions made by the models and by the loop, under the reference's rules."""

    exports: dict[str, list[Case]]
    loop: dict[str, Made]


def make_both(source: Path, folder: Path, listed: Path, extracts: Path | None) -> Both:
    """Build and export the listed admissions of a source, and loop over them.

    Without extracts the loop reads what the models drew from the notes: how they do so is not
    what is compared here.
    """
    env = {
        "MEDEVAL_DUCKDB": str(folder / "medeval.duckdb"),
        "MEDEVAL_MIMIC4_DIR": str(source),
        "MEDEVAL_MIMIC4_NOTE_DIR": str(source),
    }
    if extracts:
        env["MEDEVAL_CDM_EXTRACT_DIR"] = str(extracts)
    variables = {"cdm_rules": "reference", "cdm_cohort_file": str(listed)}
    kinds = ["--resource-type", "seed", "--resource-type", "model"]
    build = run_dbt("build", "--select", "cdm", *kinds, "--vars", json.dumps(variables), env=env)
    assert build.returncode == 0, build.stdout
    exports = {}
    for mode, option in (("default", "--first-only"), ("extended", "--extended")):
        out = folder / mode
        export = run_medeval("export", "--task", "cdm", option, "--out", out, env=env)
        assert export.returncode == 0, export.stderr
        exports[mode] = read_cases(out / "cdm" / "benchmark.json")
    if extracts is None:
        write_extracts(folder / "medeval.duckdb", folder / "source" / "note_extract")
        for module in ("hosp", "note"):
            (folder / "source" / module).symlink_to(source / module)
        source = folder / "source"
    return Both(exports, make(source, read_list(listed)))


@pytest.fixture(scope="module")
def demo(project_root: Path) -> Path:
    return project_root / "demo" / "mimic4"


@pytest.fixture(scope="module")
def listed(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The list of all admissions of the demo: one file, so that dbt parses the project once."""
    path = tmp_path_factory.mktemp("list") / "all.txt"
    with gzip.open(demo / "hosp" / "admissions.csv.gz", "rt", encoding="utf-8") as file:
        path.write_text("".join(f"{row['hadm_id']}\n" for row in csv.DictReader(file)))
    return path


@pytest.fixture(scope="module")
def of_demo(demo: Path, listed: Path, tmp_path_factory: pytest.TempPathFactory) -> Both:
    return make_both(demo, tmp_path_factory.mktemp("demo"), listed, None)


@pytest.fixture(scope="module")
def of_random_texts(demo: Path, listed: Path, tmp_path_factory: pytest.TempPathFactory) -> Both:
    """The demo's admissions with notes made of the words that the rules look for."""
    folder = tmp_path_factory.mktemp("random")
    source = folder / "source"
    write_random_notes(source, read_list(listed), per_admission=8)
    (source / "hosp").symlink_to(demo / "hosp")
    (source / "note" / "discharge.csv.gz").symlink_to(demo / "note" / "discharge.csv.gz")
    return make_both(source, folder, listed, source)


@pytest.mark.parametrize("mode", MODES)
def test_cases_are_the_golden_ones(
    mode: str, made: dict[str, Made], golden_set: Path, tmp_path: Path
) -> None:
    write_cases(made[mode].cases, tmp_path / "cases.json")
    ours = read_cases(tmp_path / "cases.json")
    golden = read_cases(golden_set / f"reference_{mode}.json.gz")
    assert [case["hadm_id"] for case in ours] == [case["hadm_id"] for case in golden]
    for mine, other in zip(ours, golden, strict=True):
        assert list(mine) == list(other)
        assert mine == in_one_order(mine)
        assert mine == in_one_order(other), mine["hadm_id"]


@pytest.mark.parametrize("mode", MODES)
def test_sql_gives_the_same_cases(mode: str, of_demo: Both, tmp_path: Path) -> None:
    assert_same(of_demo, mode, tmp_path)
    assert len(of_demo.exports[mode]) > 130


@pytest.mark.parametrize("mode", MODES)
def test_sql_treats_random_texts_alike(mode: str, of_random_texts: Both, tmp_path: Path) -> None:
    assert_same(of_random_texts, mode, tmp_path)


def assert_same(both: Both, mode: str, folder: Path) -> None:
    write_cases(both.loop[mode].cases, folder / "cases.json")
    theirs = read_cases(folder / "cases.json")
    ours = both.exports[mode]
    assert [case["hadm_id"] for case in ours] == [case["hadm_id"] for case in theirs]
    for mine, other in zip(ours, theirs, strict=True):
        assert list(mine) == list(other)
        for field in mine:
            assert mine[field] == other[field], (mine["hadm_id"], field)


def test_absent_cases_have_a_reason(made: dict[str, Made], golden_set: Path) -> None:
    written = {case["hadm_id"] for case in made["default"].cases}
    listed = set(read_list(golden_set / "hadm_id_list.txt"))
    assert set(made["default"].failed) == listed - written
    assert len(made["default"].failed) == 5


def test_indexes_change_nothing(shared: Path) -> None:
    source = shared / "golden" / "cdm_synth"
    listed = read_list(source / "hadm_id_list.txt")[:10]
    plain, indexed = make(source, listed), make(source, listed, with_indexes=True)
    assert plain == indexed


def test_numbers_are_written_as_postgres_does(postgres_database: dict[str, str]) -> None:
    dice = random.Random(0)
    numbers = [struct.unpack("<d", dice.randbytes(8))[0] for _ in range(2000)]
    numbers += [dice.randint(-999, 9999) / 10 ** dice.randint(0, 6) for _ in range(2000)]
    numbers += [0.0, -0.0, 1e-4, 9.99e-5, 1e15, 999999999999999.0, 1e16, float("inf")]
    with connect(postgres_database) as connection:
        rows = connection.execute(
            "select x::text from unnest(%s::float8[]) with ordinality as u (x, n) order by n",
            [numbers],
        )
        assert [number_text(number) for number in numbers] == [row[0] for row in rows]


LONG = "GEN: long text here. " * 12


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ("ABD: soft\nPhysical Exam on day of discharge: well", "ABD: soft"),
        ("ABD: soft. Day of discharge well", "ABD: soft."),
        ("no discharge from the wound", "no discharge from the wound"),
        ("ABD: soft on discharged: well", "ABD: soft"),
        ("ABD: soft\nDischarge vs: 98", "ABD: soft"),
        ("ABD: soft, Discharge phsyical: well", "ABD: soft,"),
        ("ABD: soft; Transfer Physical: well", "ABD: soft;"),
        ("ABD: soft ___Physical : well", "ABD: soft"),
        ("ABD: soft At Dischage exam. At ___ischarge exam", "ABD: soft At Dischage exam."),
        ("\n\n Discharge\nwell", ""),
        ("ABD: soft --Discharge-- well", "ABD: soft"),
        ("ABD: soft. PE day of discharge", "ABD: soft."),
        ("ABD: soft, disposition home", "ABD: soft,"),
        ("ABD: soft D/C: home", "ABD: soft"),
        ("ADMISSION LABS: 1\nABD: soft\nLabs: 2", "ADMISSION LABS: 1\nABD: soft"),
        ("ADMISSION  LABS: 1", "ADMISSION"),
        ("ADMISSION Labs and imaging: 1", "ADMISSION Labs and"),
        (f"{LONG}\nCVS: regular", LONG.strip()),
        (f"{LONG}\nPelvic exam: regular", f"{LONG}\nPelvic exam: regular"),
        (f"{LONG}\nPE:\n HEENT: clear", f"{LONG}\nHEENT: clear"),
        (f"{LONG}\nSixteen letters ! exam: 1", f"{LONG}\nSixteen letters ! exam: 1"),
        ("Abd soft. Prior to leaving AMA... left", "Abd soft.  left"),
        ("HEENT: clear. HEENT : again", "HEENT: clear."),
        (f"{LONG} T98.2 HR 70 BP 110/70 well", LONG.strip()),
        (f"Now T98 HR 70 BP 110/70 {LONG} T98 HR 70 BP 110/70", None),
        ("Abd soft WBC 12.1, Hgb 13", "Abd soft"),
        ("Abd soft WBC 12", "Abd soft WBC 12"),
        ("PE: Physical Exam:\n well", "well"),
        ("======\n______ Abd xxxxxx ___:", "Abd ___"),
    ],
)
def test_exam_rules(section: str, expected: str | None) -> None:
    assert exam_text(section) == (section if expected is None else expected)


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        ("CT ABDOMEN\nFINDINGS: Clear.", "FINDINGS:\nClear."),
        ("EXAM: CT\nFINDINGS: Clear.", "EXAM:\nCT:\n\nFINDINGS:\nClear."),
        ("HISTORY: Pain.\nFINDINGS: Clear.\nIMPRESSION: None.", "FINDINGS:\nClear."),
        ("FINDINGS: Clear.\nImpression: None.", "FINDINGS:\nClear.\nImpression: None."),
        ("IMPRESSION: One.\nALL CLEAR\nBut this.", "ALL CLEAR:\nBut this."),
        ("IMPRESSION: One.\nRECOMMENDATION(S): Two.", ""),
        ("LIVER: Old.\nFINDINGS: Clear.\nLIVER: New.", "LIVER:\nNew.\n\nFINDINGS:\nClear."),
        ("___: kept", "___:\nkept"),
        ("nothing before the first heading", ""),
        ("FINDINGS: \r\nIMPRESSION: None.", ""),
    ],
)
def test_section_rules(report: str, expected: str) -> None:
    assert kept_sections(report) == expected


@pytest.mark.parametrize(
    ("exam_name", "report", "expected"),
    [
        ("CT CHEST/ABD/PELVIS", "", ("CT", "Abdomen")),
        ("MRCP (MR ABD W&W/OC)", "", ("MRI", "Abdomen")),
        ("CT PELVIS W/CONTRAST", "", ("CT", "Pelvis")),
        ("CHESTS", "", ("Radiograph", None)),
        ("SERIES", "The mri of the knee.", ("MRI", "Extremity")),
        ("LIVER U.S.", "", ("Ultrasound", "Abdomen")),
        ("PELVICS", "", (None, None)),
    ],
)
def test_modality_and_region_rules(
    exam_name: str, report: str, expected: tuple[str | None, str | None]
) -> None:
    assert (find_modality(exam_name, report), find_region(exam_name, report)) == expected


def test_history_rules() -> None:
    assert history_text("Pain.", " PMH: none ") == "Pain.\n\nPast Medical History: none"
    assert history_text("Pain. ", "Past Medical/Surgical History\nHTN") == (
        "Pain. \n\nPast Medical History: HTN"
    )
    assert find_pathology(["Fall", "s/p appendectomy", "Pancreatitis"]) == "appendicitis"
    assert find_pathology(["Periappendicitis"]) is None
    assert scrub("pancreatitis Acute\nPancreatitis", "pancreatitis") == "___ ___"
    assert scrub("___appendicitis peri-appendicitis", "appendicitis") == (
        "___appendicitis peri-___"
    )
    assert scrub("acute\npancreatitis", None) == "acute pancreatitis"
