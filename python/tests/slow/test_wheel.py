"""The wheel brings the dbt project along, and a folder of `init` is enough for the commands."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from commands import PROJECT_ROOT, run_program

pytestmark = pytest.mark.slow
FILES = ("pyproject.toml", "README.md", "LICENSE", "dbt_project.yml", "profiles.yml")
FOLDERS = ("python", "models", "macros", "seeds", "tests", "demo")


def done(*words: str | Path, cwd: Path) -> str:
    """Return what a command printed, in an environment that names no data and no checkout."""
    without = [word for name in os.environ if "MEDEVAL" in name for word in ("-u", name)]
    ended = run_program("env", *without, *words, env={"PYTHONPATH": "", "NO_COLOR": "1"}, cwd=cwd)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built of a copy of the checkout, for setuptools writes beside what it builds."""
    folder = tmp_path_factory.mktemp("source")
    unwanted = shutil.ignore_patterns("__pycache__", "*.egg-info", "tests_extras")
    for part in FOLDERS:
        shutil.copytree(PROJECT_ROOT / part, folder / part, symlinks=True, ignore=unwanted)
    shutil.rmtree(folder / "python" / "tests")
    for part in FILES:
        shutil.copy(PROJECT_ROOT / part, folder)
    build = ("wheel", "--no-deps", "--no-build-isolation", "--no-index")
    done(sys.executable, "-m", "pip", *build, "-w", folder / "dist", folder, cwd=folder)
    (built,) = (folder / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel, which sees the packages that the tests have."""
    folder = tmp_path_factory.mktemp("environment")
    done(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder)
    python = folder / "bin" / "python"
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = Path(done(python, "-c", where, cwd=folder).strip())
    # Paths of the tests' environment, but not what its own .pth files add: the checkout.
    paths = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (packages / "of_the_tests.pth").write_text("\n".join(sorted(paths)), encoding="utf-8")
    pip = (sys.executable, "-m", "pip", "--python", python)
    done(*pip, "install", "--no-deps", "--no-index", "--ignore-installed", wheel, cwd=folder)
    return python


def test_the_wheel_has_every_file_of_package_and_project(wheel: Path) -> None:
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    package = PROJECT_ROOT / "python" / "medeval"
    expected = {"dbt_medeval.py"}
    for place, _, files in os.walk(package, followlinks=True):
        inside = Path("medeval", Path(place).relative_to(package))
        expected |= {(inside / name).as_posix() for name in files if not name.endswith(".pyc")}
    assert packed == expected


def test_every_command_works_from_a_folder_that_init_made(python: Path, tmp_path: Path) -> None:
    where = "import medeval; print(medeval.__file__)"
    assert done(python, "-c", where, cwd=tmp_path).startswith(str(python.parents[1]))
    study = tmp_path / "O'Neil"
    said = done(python, "-m", "medeval", "init", study.name, cwd=tmp_path)
    assert said.startswith("O'Neil: the dbt project of medeval")
    dbt = (python, "-c", "from dbt.cli.main import cli; cli()")
    assert "Completed successfully" in done(*dbt, "build", "--select", "yier", cwd=study)
    done(python, "-m", "medeval", "export", "--task", "yier", cwd=study)
    assert (study / "exports" / "yier" / "questions.jsonl").is_file()
    done(python, "-m", "medeval", "run", "--task", "yier", "--model", "demo", cwd=study)
    scored = done(python, "-m", "medeval", "score", "--task", "yier", cwd=study)
    assert "answered 49" in scored
    done(python.with_name("medeval"), "doctor", "--task", "yier", cwd=study)
