"""The cases of an export and files that name a part of them: every form, and what is wrong."""

from __future__ import annotations

import hashlib
from pathlib import Path
from random import Random
from typing import Any

import pytest
from cdm_bedside import export_of
from cdm_cases import case, names, table
from hypothesis import given
from hypothesis import strategies as st
from tables import refused

from medeval.tasks.cdm.cases import CaseFiles, Subset, read_case_files, read_subset
from medeval.tasks.cdm.export import float8_text

ROWS = table("cdm_case_files")
IDS = (20055001, 20055002, 20055003)
CASES = tuple(case(number) for number in (1, 2, 3, 9))
FILES = CaseFiles(Path("exports/cdm"), CASES, names().labels, 0, "a", "b")


def read(folder: Path, text: str | bytes, name: str = "readers") -> Subset:
    path = folder / "ids.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_subset(f"{name}={path}", FILES)


@pytest.mark.parametrize("text", ROWS["every_form"])
def test_every_form_of_a_list_of_cases_is_read(tmp_path: Path, text: str) -> None:
    found = read(tmp_path, text)
    assert (found.name, found.hadm_ids) == ("readers", IDS)
    assert found.file_sha256 == hashlib.sha256(text.encode()).hexdigest()
    # As `sort -n ids.txt | sha256sum` has it.
    ids = hashlib.sha256(b"20055001\n20055002\n20055003\n").hexdigest()
    assert found.about()["ids_sha256"] == ids


@given(
    st.sets(st.sampled_from(IDS), min_size=1),
    st.integers(0, 99),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.booleans(),
)
def test_what_a_file_looks_like_says_nothing(
    tmp_path_factory: pytest.TempPathFactory, ids: set[int], seed: int, end: str, is_table: bool
) -> None:
    random = Random(seed)
    lines = [f"x,{one}" if is_table else str(one) for one in random.sample(sorted(ids), len(ids))]
    for _ in range(random.randrange(4)):
        lines.insert(random.randrange(len(lines) + 1), random.choice(["", "# 5", "   "]))
    text = end.join([*(["who,hadm_id"] if is_table else []), *lines])
    assert read(tmp_path_factory.mktemp("ids"), text).hadm_ids == tuple(sorted(ids))


@pytest.mark.parametrize(("text", "told"), ROWS["wrong"])
def test_a_wrong_list_is_told_with_its_place(tmp_path: Path, text: str | bytes, told: str) -> None:
    raised = refused(told, read, tmp_path, text)
    assert str(tmp_path / "ids.txt") in raised


def test_a_subset_is_a_name_and_a_file_that_is_there(tmp_path: Path) -> None:
    for named in ("readers", "readers=", "readers= ", "ids.csv"):
        refused("it is NAME=FILE", read_subset, named, FILES)
    for name in ROWS["odd_names"]:
        refused("letters, digits, dots, hyphens", read, tmp_path, "20055001", name)
    assert [read(tmp_path, "20055001", name).name for name in ROWS["names"]] == ROWS["names"]
    for place in (tmp_path / "none.txt", tmp_path):
        refused("cannot be read", read_subset, f"readers={place}", FILES)
    refused("lacks 2 of the cases of the subset, such as 8", FILES.only, [20055003, 9, 8])


def test_cases_that_nothing_could_be_right_about_are_left_out_and_counted(tmp_path: Path) -> None:
    of = [case(1), case(2, pathology=None), case(3)]
    files = read_case_files(export_of(tmp_path / "some", of))
    assert [one.hadm_id for one in files.cases] == [20055001, 20055003]
    assert files.about()["without_pathology"] == 1
    none = export_of(tmp_path / "none", of[1:2])
    refused("no case with one of the four pathologies", read_case_files, none)


@pytest.mark.parametrize(
    ("its_class", "is_open"), [("open", True), ("credentialed", False), ("Open", False), (7, False)]
)
def test_a_class_is_open_by_that_word_alone(tmp_path: Path, its_class: Any, is_open: bool) -> None:
    files = read_case_files(export_of(tmp_path, [case(1), case(2)], ["open", its_class]))
    assert files.is_open is is_open
    assert [one.data_class == "open" for one in files.cases] == [True, is_open]


@pytest.mark.parametrize(("number", "text"), table("export_cdm")["doubles"])
def test_a_double_as_text(number: float, text: str) -> None:
    assert float8_text(number) == text
