"""The cases of an export, and named parts of them.

A part is a list that the user gives, of the cases that human readers saw, say: which these are is
theirs to know, a study's list is no part of MIMIC and none of this project's.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from typing import Any

from medeval.errors import UserError, os_error_as
from medeval.export import exported_class
from medeval.files import read_json_lines, read_text, sha256
from medeval.models.clinical_case import ClinicalCase, read_case
from medeval.tasks.cdm.export import LINES, MAPPING, PROVENANCE
from medeval.tasks.cdm.facts import Items, read_lab_tests
from medeval.text import OPEN, sha256_of, strictest

EXPORT = Path("exports") / "cdm"
COMMAND = "python -m medeval export --task cdm"
COLUMN = "hadm_id"
# An option is parted at the first "=", so a name has none.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_ID = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True)
class CaseFiles:
    """The cases that can be asked, and where they are from.

    Attributes:
        folder: of the export.
        cases: those with one of the four pathologies, in the order of the export.
        tests: the items of each label of the table of tests.
        without_pathology: cases that are left out, since nothing could be right about them.
        sha256: of the file of cases.
        mapping_sha256: of the table of tests.
    """

    folder: Path
    cases: tuple[ClinicalCase, ...]
    tests: dict[str, Items]
    without_pathology: int
    sha256: str
    mapping_sha256: str

    @property
    def hashes(self) -> tuple[str, str]:
        """The hashes by which a run knows its cases, wherever they are."""
        return self.sha256, self.mapping_sha256

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
        wanted = set(hadm_ids)
        kept = tuple(case for case in self.cases if case.hadm_id in wanted)
        if missing := wanted.difference(case.hadm_id for case in kept):
            lacks = f"lacks {len(missing):,} of the cases of the subset, such as {min(missing)}"
            raise UserError(f"{self.folder} {lacks}. Name the folder that has them with --cases.")
        return replace(self, cases=kept, without_pathology=0)


@dataclass(frozen=True)
class Subset:
    """Some of the cases, by name.

    Attributes:
        name: as reports call them.
        hadm_ids: the cases, ascending.
        file_sha256: of the file that they were read from.
    """

    name: str
    hadm_ids: tuple[int, ...]
    file_sha256: str

    def about(self) -> dict[str, Any]:
        """Return what a report says of it; two files of the same cases share the hash of ids."""
        ids = "".join(f"{one}\n" for one in self.hadm_ids)
        return {
            "name": self.name,
            "cases": len(self.hadm_ids),
            "file_sha256": self.file_sha256,
            "ids_sha256": sha256_of(ids),
        }


def read_case_files(folder: Path = EXPORT) -> CaseFiles:
    """Read the cases of an export.

    A case is open if all that speaks of it says so: the case, the file of classes beside it (which
    the reference's layout has instead), and the manifest, of the very bytes of all these files.

    Raises:
        UserError: the export is not there, a case cannot be read or comes twice, or none has a
            pathology.
    """
    path = folder / LINES
    with os_error_as(f"{path}: {{why}}. `{COMMAND}` writes it; --cases names another folder."):
        data = path.read_bytes()
    lines = enumerate(data.split(b"\n"), 1)
    cases = [read_case(line, f"{path}, line {number}") for number, line in lines if line.strip()]
    counts = Counter(case.hadm_id for case in cases)
    if twice := [hadm_id for hadm_id, count in counts.items() if count > 1]:
        raise UserError(f"{path}: case {twice[0]} comes twice. `{COMMAND}` writes each case once.")
    asked = [case for case in cases if case.pathology is not None]
    if not asked:
        raise UserError(f"{path} holds no case with one of the four pathologies.")
    classes = _classes(folder / PROVENANCE)
    tests = read_lab_tests(folder / MAPPING)
    read = [path, folder / MAPPING, *([folder / PROVENANCE] if classes else [])]
    hashes = [sha256_of(data), *map(sha256, read[1:])]
    by_manifest = strictest(map(exported_class, read, hashes))
    for index, case in enumerate(asked):
        own = [case.data_class] if "data_class" in case.model_fields_set else []
        said = strictest([*own, *classes.get(case.hadm_id, [])])
        asked[index] = case.model_copy(update={"data_class": strictest([said, by_manifest])})
    left_out = len(cases) - len(asked)
    return CaseFiles(folder.resolve(), tuple(asked), tests, left_out, *hashes[:2])


def read_subset(named: str, files: CaseFiles) -> Subset:
    """Read the cases of a subset.

    Args:
        named: NAME=FILE. The file has one hadm_id a line, or is a CSV whose header has a column of
            that name. Blank lines and those that begin with `#` do not count; a byte order mark
            and the line ends of any system are accepted.
        files: the cases that there are.

    Raises:
        UserError: no name and file, a file that cannot be read or names no case, or a line that
            holds no hadm_id, one that another line has, or one that is no case.
    """
    name, _, place = named.partition("=")
    if not place.strip():
        raise UserError(f"--subset {named}: it is NAME=FILE, such as readers=readers.csv.")
    if not _NAME.fullmatch(name):
        raise UserError(
            f"--subset {named}: a name has up to 40 letters, digits, dots, hyphens and underscores"
            " (A to Z, no others) and begins with a letter or digit."
        )
    path = Path(place)
    lines = _lines(read_text(path), path)
    if not lines:
        raise UserError(f"--subset {name}: {path} names no case.")
    known = {case.hadm_id for case in files.cases}
    unknown = [hadm_id for hadm_id in lines if hadm_id not in known]
    if unknown:
        which = f"{path}, line {lines[unknown[0]]}: {COLUMN} {unknown[0]}"
        more = f" It is the first of {len(unknown):,} such lines." if unknown[1:] else ""
        of = f"{len(known):,} cases in {files.folder} that have one of the four pathologies"
        raise UserError(f"{which} is none of the {of}.{more}")
    return Subset(name, tuple(sorted(lines)), sha256(path))


def _classes(path: Path) -> dict[int, list[object]]:
    """Return what a file beside the cases says of the class of each, if there is one."""
    classes: dict[int, list[object]] = {}
    try:
        for _, said in read_json_lines(path) if path.exists() else ():
            classes.setdefault(int(said["hadm_id"]), []).append(said["data_class"])
    except (UserError, ValueError, TypeError, KeyError):
        raise UserError(f"{path} cannot be read. `{COMMAND}` writes it anew.") from None
    return classes


def _lines(text: str, path: Path) -> dict[int, int]:
    """Return the number of the line of each id; a cell of a table does not go on in the next."""
    found: dict[int, int] = {}
    header: list[str] | None = None
    for number, line in enumerate(map(str.strip, StringIO(text, newline=None)), start=1):
        if not line or line.startswith("#"):
            continue
        where, bare = f"{path}, line {number}", line.partition("#")[0].strip()
        if header is None and _ID.fullmatch(bare):
            header = [COLUMN]  # a list has none
        try:
            # A note may stand behind an id.
            row = [bare] if header == [COLUMN] else next(csv.reader([line], strict=True))
        except csv.Error as error:
            raise UserError(f"{where}: {error}.") from None
        if header is None:
            header = [name.strip().lower() for name in row]
            if header.count(COLUMN) != 1:
                raise UserError(
                    f"{where}: {line[:40]!r} is neither a {COLUMN} nor a header with one column"
                    f" {COLUMN}. The file has one {COLUMN} a line, or is a CSV parted by commas."
                )
            continue
        if len(row) != len(header):
            raise UserError(f"{where}: {len(row)} cells under {len(header)} columns.")
        cell = row[header.index(COLUMN)].partition("#")[0].strip()
        if not any(map(str.strip, row)):
            continue
        if not _ID.fullmatch(cell):
            raise UserError(f"{where}: {cell[:40]!r} is not a {COLUMN}.")
        if (hadm_id := int(cell)) in found:
            raise UserError(f"{where}: {COLUMN} {hadm_id} stands in line {found[hadm_id]} too.")
        found[hadm_id] = number
    return found
