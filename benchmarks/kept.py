"""What is kept of the measurements: in a file of its own for each benchmark, part by part."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import ClassVar, Self

from pydantic import BaseModel

FOLDER = Path(__file__).with_name("results")


class Setting(BaseModel, frozen=True):
    """When and on what a part was measured; no name of a machine, user or folder."""

    date: str
    cores: int
    memory_gb: int
    system: str
    versions: dict[str, str]


def setting(packages: Iterable[str]) -> Setting:
    """Describe this moment and machine, with the versions of Python and of these packages."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return Setting(
        date=datetime.now(UTC).date().isoformat(),
        cores=len(os.sched_getaffinity(0)),
        memory_gb=round(memory / 2**30),
        system=f"{platform.system()} {platform.machine()}",
        versions={"python": platform.python_version(), **{n: version(n) for n in packages}},
    )


class Part(BaseModel, frozen=True):
    """One part of a benchmark, measured in one go."""

    setting: Setting


class Kept(BaseModel):
    """All parts of a benchmark measured so far."""

    file: ClassVar[str]

    @classmethod
    def read(cls) -> Self:
        """Read the kept results; none where there is no file yet."""
        path = FOLDER / cls.file
        return cls.model_validate_json(path.read_text(encoding="utf-8")) if path.exists() else cls()

    def write(self) -> None:
        """Keep the results."""
        replace_text(FOLDER / self.file, self.model_dump_json(indent=2, exclude_none=True) + "\n")


class KeptParts(Kept):
    """A benchmark of different parts: a field for each, called as its class in lower case."""

    def keep(self, part: Part) -> None:
        """Put a part in the place of an older measurement of it, and keep all."""
        setattr(self, type(part).__name__.lower(), part)
        self.write()

    def settings(self) -> dict[str, Setting]:
        """Return when and on what each part was measured."""
        parts = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: part.setting for name, part in parts.items() if part is not None}


def replace_text(path: Path, text: str) -> None:
    """Write a file beside its place and move it there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.new")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)
