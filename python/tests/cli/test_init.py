"""`init` lays the dbt project out whole, or leaves a folder as it was."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import PROJECT_ROOT, contents
from in_process import Main

PARTS = ["dbt_project.yml", "demo", "macros", "models", "profiles.yml", "seeds", "tests"]


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_new_folder_gets_the_project(main: Main, tmp_path: Path) -> None:
    done = main("init", tmp_path / "my study", code=0)
    made = tmp_path / "my study"
    assert names_in(made) == PARTS
    kept = [PROJECT_ROOT / part for part in PARTS]
    expected = {part.name: part.read_bytes() for part in kept if part.is_file()}
    for part in kept:
        expected |= {f"{part.name}/{name}": data for name, data in contents(part).items()}
    assert contents(made) == expected
    assert not [path for path in made.rglob("*") if path.stat().st_mode & 0o077]
    commands = done.out.partition("Next:\n")[2].splitlines()
    assert commands == [f"  cd '{made}' && dbt build", "  python -m medeval doctor --task all"]


def test_folder_keeps_its_own(main: Main, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".venv").mkdir()
    # What a copy that was killed has left.
    (tmp_path / ".incomplete" / "models").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    done = main("init", ".", code=0)
    assert names_in(tmp_path) == [".venv", *PARTS]
    assert "Next:\n  dbt build\n" in done.out


@pytest.mark.parametrize("there", [True, False])
def test_a_full_disk_leaves_nothing(
    main: Main, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    rename = Path.rename

    def full(path: Path, target: Path) -> Path:
        if target.name == "seeds":
            raise OSError(28, "No space left on device")
        return rename(path, target)

    folder = tmp_path / "study"
    if there:
        folder.mkdir()
    monkeypatch.setattr(Path, "rename", full)
    done = main("init", folder, code=2)
    assert done.err == f"medeval: {folder} cannot be written: No space left on device.\n"
    assert list(tmp_path.rglob("*")) == ([folder] if there else [])
