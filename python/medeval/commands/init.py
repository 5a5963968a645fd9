"""The command `init`."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path
from typing import Any

import medeval
from medeval.errors import UserError, os_error_as
from medeval.files import make_folder, make_private

# In a checkout links to the project's own folders, in an installed package their files.
PROJECT = Path(medeval.__file__).with_name("project")
_LAST = "dbt_project.yml"
_STAGING = ".incomplete"


def init(**given: Any) -> None:
    """Lay out the dbt project, from which every command works."""
    folder = given["folder"].expanduser()
    with os_error_as(f"{folder} cannot be written: {{why}}."):
        lay_out(folder)
    print(f"{folder}: the dbt project of medeval {medeval.__version__}, with its synthetic demo.")
    enter = "" if folder.resolve() == Path.cwd() else f"cd {shlex.quote(str(folder))} && "
    print(f"Next:\n  {enter}dbt build\n  python -m medeval doctor --task all")


def lay_out(folder: Path) -> None:
    """Copy the project into a folder, all of it or nothing.

    Raises:
        UserError: a file or folder of the project's names is there already.
        OSError: it cannot be written.
    """
    # What makes a folder a project comes last.
    names = sorted((path.name for path in PROJECT.iterdir()), key=lambda name: name == _LAST)
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file. Name a new folder.")
    if taken := [name for name in names if os.path.lexists(folder / name)]:
        raise UserError(f"{folder} already has {', '.join(sorted(taken))}. Name another folder.")
    is_new, staging, placed = not folder.exists(), folder / _STAGING, list[Path]()
    try:
        make_folder(folder)
        # What a copy that was killed has left.
        shutil.rmtree(staging, ignore_errors=True)
        shutil.copytree(PROJECT, staging, copy_function=shutil.copyfile)
        make_private([staging, *staging.rglob("*")])
        for name in names:
            (staging / name).rename(folder / name)
            placed.append(folder / name)
    except BaseException:
        for path in placed:
            path.rename(staging / path.name)
        shutil.rmtree(folder if is_new else staging, ignore_errors=True)
        raise
    staging.rmdir()
