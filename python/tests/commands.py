"""The project's commands as the tests run them: in a process of their own, from the root."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from command_server import CommandServer

PROJECT_ROOT = Path(__file__).resolve().parents[2]
# Of the environment: the folder of what dbt has parsed in this run of the tests.
PARSES = "MEDEVAL_TEST_PARSES"
# The process in whose forks commands run; it starts with the first of them.
server = CommandServer()

# What a checkout needs to be one, for the commands that read its settings and its demo.
_PARTS = ("dbt_project.yml", "profiles.yml", "demo", "models", "seeds", "macros", "tests")


def link_project(folder: Path) -> None:
    """Make a folder look like a checkout; what is written beside the links stays in it."""
    for part in map(PROJECT_ROOT.joinpath, _PARTS):
        if part.is_file():
            (folder / part.name).symlink_to(part)
            continue
        (folder / part.name).mkdir()
        for inner in part.iterdir():
            (folder / part.name / inner.name).symlink_to(inner)


def run_medeval(
    *args: str | Path,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    code: int | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run `python -m medeval`, in a fork unless `env` names the folder of another package.

    Args:
        args: the words behind it.
        env: added to the test session's environment.
        cwd: where it runs; the default is the project's root.
        code: that it must end with.
    """
    words = [*map(str, args)]
    if "PYTHONPATH" not in (env or {}):
        done = server.run(words, {**os.environ, **(env or {})}, cwd or PROJECT_ROOT)
    else:
        done = run_program(sys.executable, "-m", "medeval", *words, env=env, cwd=cwd)
    assert code in (None, done.returncode), done.stdout + done.stderr
    return done


def contents(folder: Path) -> dict[str, bytes]:
    """Return what the files below a folder hold, by their paths in it."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def folder_in(printed: str) -> Path:
    """Return the folder of the run that a command named in what it printed."""
    found = re.search(r"^run (.+)$", printed, re.MULTILINE)
    assert found, printed
    return Path(found[1])


def folder_of(done: subprocess.CompletedProcess[str]) -> Path:
    """Return the folder of the run that a command named."""
    return folder_in(done.stdout + done.stderr)


def run_dbt(
    *args: str | Path,
    env: Mapping[str, str] | None = None,
    folder: Path | None = None,
    cwd: Path | None = None,
    code: int | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run `dbt` with its target and log folders outside the checkout.

    Args:
        args: the subcommand and its options.
        env: added to the test session's environment.
        folder: for dbt's files and, unless `env` says otherwise, the DuckDB warehouse and its
            spill files. The default is one a session and target, since the parse cache of one
            target is worthless to another.
        cwd: where it runs; the default is the project's root.
        code: that it must end with.
    """
    env = env or {}
    words = [str(arg) for arg in args]
    if folder is None:
        folder = _session_folder(_target(words, env))
    warehouse, folders = places_of(folder)
    dbt = Path(sys.executable).with_name("dbt")
    done = run_program(dbt, *words, *folders, env={**warehouse, **env}, cwd=cwd)
    assert code in (None, done.returncode), done.stdout + done.stderr
    return done


def parse_options(name: str) -> list[str]:
    """Return options of dbt by which a parse is kept for all processes of the tests, by a name."""
    return places_of(Path(os.environ[PARSES], name))[1]


def places_of(folder: Path) -> tuple[dict[str, str], list[str]]:
    """Return what names a folder to dbt: variables for the warehouse, and options for its files."""
    places = {"DUCKDB": "medeval.duckdb", "TEMP_DIR": "spill"}
    warehouse = {f"MEDEVAL_{name}": str(folder / place) for name, place in places.items()}
    return warehouse, ["--target-path", f"{folder}/target", "--log-path", f"{folder}/logs"]


def run_program(
    *command: str | Path, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run any program, by default from the root; `env` is added to the session's environment."""
    return subprocess.run(
        [*map(str, command)],
        env={**os.environ, **(env or {})},
        cwd=cwd or PROJECT_ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def _target(words: list[str], env: Mapping[str, str]) -> str:
    for option in ("--target", "-t"):
        if option in words[:-1]:
            return words[words.index(option) + 1]
    return env.get("MEDEVAL_TARGET", "duckdb")


@cache
def _session_folder(target: str) -> Path:
    folder = Path(tempfile.mkdtemp(prefix=f"medeval-dbt-{target}-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
