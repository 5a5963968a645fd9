"""Files that name a part of the cases: every form they come in, and what is wrong with others."""

from __future__ import annotations

import hashlib
from pathlib import Path
from random import Random

import pytest
from cdm_cases import case, mapping, rows
from hypothesis import given
from hypothesis import strategies as st

from medeval.cdm.cases import CaseFiles, Subset, read_subset
from medeval.errors import UserError

IDS = (20000001, 20000002, 20000003)
FOLDER = Path("exports/cdm")
FILES = CaseFiles(
    FOLDER, tuple(case(hadm_id=number) for number in (*IDS, 20000009)), mapping(), 0, "a", "b"
)


def read(folder: Path, text: str | bytes, name: str = "readers") -> Subset:
    path = folder / "ids.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_subset(f"{name}={path}", FILES)


@pytest.mark.parametrize("text", rows("every_form_of_a_list_of_cases_is_read"))
def test_every_form_of_a_list_of_cases_is_read(tmp_path: Path, text: str) -> None:
    found = read(tmp_path, text)
    assert (found.name, found.hadm_ids) == ("readers", IDS)
    assert found.file_sha256 == hashlib.sha256(text.encode()).hexdigest()
    # As `sort -n ids.txt | sha256sum` has it.
    assert (
        found.about()["ids_sha256"] == hashlib.sha256(b"20000001\n20000002\n20000003\n").hexdigest()
    )


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
    found = read(tmp_path_factory.mktemp("ids"), text)
    assert found.hadm_ids == tuple(sorted(ids))
    assert (
        found.about()["ids_sha256"] == Subset("other", tuple(sorted(ids)), "").about()["ids_sha256"]
    )


@pytest.mark.parametrize(("text", "told"), rows("what_is_wrong_with_a_list_is_told_with_its_place"))
def test_what_is_wrong_with_a_list_is_told_with_its_place(
    tmp_path: Path, text: str | bytes, told: str
) -> None:
    with pytest.raises(UserError, match=told) as raised:
        read(tmp_path, text)
    assert str(tmp_path / "ids.txt") in str(raised.value)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.txt cannot be read \(No such file"):
        read_subset(f"readers={tmp_path / 'none.txt'}", FILES)
    with pytest.raises(UserError, match="cannot be read"):
        read_subset(f"readers={tmp_path}", FILES)


@pytest.mark.parametrize("name", ["r", "8", "A" * 40, "study-1_b.readers"])
def test_names_that_a_report_can_show(tmp_path: Path, name: str) -> None:
    assert read(tmp_path, "20000001", name).name == name


@pytest.mark.parametrize("name", ["", "A" * 41, "-r", ".r", "the readers", "r/s", "Ärzte", " r"])
def test_odd_names_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="letters, digits, dots, hyphens"):
        read(tmp_path, "20000001", name)


@pytest.mark.parametrize("named", ["readers", "readers=", "readers= ", "ids.csv"])
def test_a_subset_is_a_name_and_a_file(named: str) -> None:
    with pytest.raises(UserError, match="it is NAME=FILE"):
        read_subset(named, FILES)


def test_some_of_the_cases_keep_the_order_of_the_export() -> None:
    cases = [case(hadm_id=number) for number in (5, 3, 4)]
    cases.append(case("pancreatitis", hadm_id=1))
    files = CaseFiles(FOLDER, tuple(cases), mapping(), 7, "a", "b")
    some = files.only([1, 4, 5])
    assert [one.hadm_id for one in some.cases] == [5, 4, 1]
    about = some.about()
    assert about["pathologies"] == {"appendicitis": 2, "pancreatitis": 1}
    assert (about["cases"], about["without_pathology"], about["sha256"]) == (3, 0, "a")
    with pytest.raises(UserError, match="lacks 2 of the cases of the subset, such as 8"):
        files.only([3, 9, 8])
