"""Published facts that the MIMIC-III generator needs, from the project's seeds."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from medeval.errors import UserError
from synth.arrays import Ints


@dataclass(frozen=True)
class MappedItem:
    """One of the 114 items that the benchmark reads."""

    itemid: int
    table: str
    variable: str
    label: str
    unit: str


@dataclass(frozen=True)
class Code:
    """One ICD-9 code: its CCS group and the phenotype (1 to 25) of that group, 0 for none."""

    code: str
    ccs: int
    phenotype: int


@dataclass(frozen=True)
class Facts:
    """Item map, code groups, phenotype names in label order and the published split."""

    items: tuple[MappedItem, ...]
    codes: tuple[Code, ...]
    phenotypes: tuple[str, ...]
    test_subjects: Ints
    validation_subjects: Ints


def read_facts() -> Facts:
    """Read the seeds of the MIMIC-III benchmark.

    Raises:
        UserError: a seed is not there.
    """
    folder = Path(__file__).resolve().parents[2] / "seeds" / "mimic3"
    return Facts(
        items=tuple(
            MappedItem(
                int(row["itemid"]),
                row["source_table"],
                row["variable"],
                row["item_label"],
                row["item_unit"],
            )
            for row in _rows(folder / "item_variables.csv")
        ),
        codes=tuple(
            Code(row["icd9_code"], int(row["ccs_id"]), int(row["phenotype_id"] or 0))
            for row in _rows(folder / "icd9_phenotypes.csv")
        ),
        phenotypes=tuple(row["phenotype_name"] for row in _rows(folder / "phenotypes.csv")),
        test_subjects=_subjects(folder / "test_subjects.csv"),
        validation_subjects=_subjects(folder / "validation_subjects.csv"),
    )


def _subjects(path: Path) -> Ints:
    return np.array([int(row["subject_id"]) for row in _rows(path)], dtype=np.int64)


def _rows(path: Path) -> list[dict[str, str]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    except FileNotFoundError:
        raise UserError(
            f"The seed {path} is missing. Restore it from the repository (git checkout)."
        ) from None
