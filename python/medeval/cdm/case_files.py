"""The cases of an export, with the table of laboratory tests beside them."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from medeval.cdm.lab_names import LabMapping, read_mapping
from medeval.data_class import OPEN, strictest
from medeval.errors import UserError
from medeval.export import exported_class
from medeval.models.clinical_case import ClinicalCase, read_case

EXPORT = Path("exports") / "cdm"
LINES = "benchmark.jsonl"
PROVENANCE = "cases_provenance.jsonl"
MAPPING = "lab_test_mapping.json"
COMMAND = "python -m medeval export --task cdm"


@dataclass(frozen=True)
class CaseFiles:
    """The cases that can be asked, and where they are from.

    Attributes:
        folder: of the export.
        cases: those with one of the four pathologies, in the order of the export.
        mapping: all tests by name.
        without_pathology: cases that are left out, since nothing could be right about them.
        sha256: of the file of cases.
        mapping_sha256: of the table of tests.
    """

    folder: Path
    cases: tuple[ClinicalCase, ...]
    mapping: LabMapping
    without_pathology: int
    sha256: str
    mapping_sha256: str

    @property
    def is_open(self) -> bool:
        """Tell whether all cases may go anywhere."""
        return all(case.data_class == OPEN for case in self.cases)

    def about(self) -> dict[str, Any]:
        """Return what the record of a run says of its cases."""
        pathologies = Counter(str(case.pathology) for case in self.cases)
        return {
            "cases": len(self.cases),
            "pathologies": dict(sorted(pathologies.items())),
            "without_pathology": self.without_pathology,
            "sha256": self.sha256,
            "mapping_sha256": self.mapping_sha256,
        }

    def only(self, hadm_ids: Collection[int]) -> CaseFiles:
        """Return some of the cases, in the order of the export.

        Raises:
            UserError: one of them is not there.
        """
        wanted = frozenset(hadm_ids)
        kept = tuple(case for case in self.cases if case.hadm_id in wanted)
        missing = wanted.difference(case.hadm_id for case in kept)
        if missing:
            raise UserError(
                f"{self.folder} lacks {len(missing):,} of the cases of the subset, such as"
                f" {min(missing)}. Name the folder of the export that has them with --cases."
            )
        return replace(self, cases=kept, without_pathology=0)


def read_case_files(folder: Path | None = None) -> CaseFiles:
    """Read the cases of an export.

    A case is open if all that speaks of it says so: the case, the file of classes beside it (which
    the reference's layout has instead), and the manifest, of the very bytes of all these files.

    Raises:
        UserError: the export is not there, a case cannot be read or comes twice, or none has a
            pathology.
    """
    place = folder or EXPORT
    path = place / LINES
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(
            f"{path}: {error.strerror}. `{COMMAND}` writes it; --cases names another folder."
        ) from None
    classes = _classes(place / PROVENANCE)
    cases = []
    numbers: dict[int, int] = {}
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            case = read_case(line, f"{path}, line {number}")
            if case.hadm_id in numbers:
                raise UserError(
                    f"{path}, line {number}: case {case.hadm_id} stands in line"
                    f" {numbers[case.hadm_id]} already. `{COMMAND}` writes each case once."
                )
            numbers[case.hadm_id] = number
            cases.append(case)
    asked = tuple(case for case in cases if case.pathology is not None)
    if not asked:
        raise UserError(f"{path} holds no case with one of the four pathologies.")
    tests = read_mapping(place / MAPPING)
    read = [path, place / MAPPING, *([place / PROVENANCE] if classes else [])]
    contents = [data, *(file.read_bytes() for file in read[1:])]
    hashes = [hashlib.sha256(content).hexdigest() for content in contents]
    by_manifest = strictest(map(exported_class, read, hashes))
    return CaseFiles(
        place.resolve(),
        tuple(_classed(case, classes.get(case.hadm_id, []), by_manifest) for case in asked),
        tests,
        len(cases) - len(asked),
        *hashes[:2],
    )


def _classed(case: ClinicalCase, beside: Sequence[object], by_manifest: str) -> ClinicalCase:
    """Return a case with the strictest class that it is given."""
    own = [case.data_class] if "data_class" in case.model_fields_set else []
    said = strictest([*own, *beside])
    return case.model_copy(update={"data_class": strictest([said, by_manifest])})


def _classes(path: Path) -> dict[int, list[object]]:
    """Return what a file beside the cases says of the class of each, if there is one."""
    classes: dict[int, list[object]] = {}
    try:
        lines = filter(str.strip, path.read_text(encoding="utf-8").split("\n"))
        for said in map(json.loads, lines):
            classes.setdefault(int(said["hadm_id"]), []).append(said["data_class"])
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, KeyError):
        raise UserError(f"{path} cannot be read. `{COMMAND}` writes it anew.") from None
    return classes
