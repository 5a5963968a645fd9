"""Small cells in all that is published of a run: report, tables, figures and leaderboard together.

The same answers are scored twice; in between, an item goes from one hidden group to another. If any
file told something of a hidden group, by itself or with the others, it would differ.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from in_process import main_in
from tables import table

pytestmark = pytest.mark.slow
LEAST, TASK_NAME = 5, "wards.py:Wards"
# Moments, names of runs, how long a reply took, and hashes of the questions, which have their ward.
OF_ONE_RUN = re.compile(
    r"20\d{6}T\d{6}Z|20\d\d-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?"
    r"|\d\.\d+ s\b|,\d\.\d+\r?$|(?<![.\w])(?=\d*[a-f])[0-9a-f]{12,64}\b",
    re.MULTILINE,
)
FILES = table("wards")
SIZES = st.lists(st.integers(1, 12), min_size=2, max_size=6)


def masked(text: str) -> str:
    return OF_ONE_RUN.sub("*", text)


def hidden_of(run: Path) -> set[str]:
    (result,) = json.loads((run / "scores.json").read_bytes())["detailed_results"]
    (table,) = result["metadata"]["tables"]
    return {ward for ward, n, _ in table["rows"] if n == "not shown"}


@settings(
    max_examples=4,
    deadline=None,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)
@given(sizes=SIZES, data=st.data())
def test_what_is_published_does_not_depend_on_how_hidden_groups_are_split(
    sizes: list[int],
    data: st.DataObject,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    main = main_in(monkeypatch, capsys)

    def done(*words: str | Path) -> str:
        ended = main(*words, code=0)
        return ended.out

    def scored(wards: list[str], name: str) -> tuple[Path, str]:
        Path("wards.json").write_text(json.dumps(wards), encoding="utf-8")
        done("run", "--task", TASK_NAME, "--model", "model.py:answer", "--out", name)
        (run,) = Path(name).iterdir()
        least = ("--by", "ward", "--min-cell", str(LEAST), "--n-iters", "20")
        return run, masked(done("score", "--task", TASK_NAME, run, *least).replace(name, "*"))

    def published(run: Path) -> dict[str, str]:
        out = run.parent / "out"
        for form in ("html", "md", "csv", "json", "yaml", "tex"):
            figures = ("--figures", out / "figures") if form == "html" else ()
            done("report", run, "--out", out / f"report.{form}", *figures)
        for form in ("html", "md", "csv"):
            done("leaderboard", run, "--out", out / f"board.{form}")
        files = [path for path in out.rglob("*") if path.is_file()]
        return {path.name: masked(path.read_bytes().decode("latin-1")) for path in files}

    with TemporaryDirectory() as place:
        monkeypatch.chdir(place)
        for name, text in FILES.items():
            Path(name).write_text(text, encoding="utf-8")
        wards = [f"ward {chr(65 + group)}" for group, size in enumerate(sizes) for _ in range(size)]
        one, screen = scored(wards, "one")
        hidden = hidden_of(one)
        assume(len(hidden) > 1)
        moved = [*wards]
        taken = data.draw(st.sampled_from([at for at, ward in enumerate(wards) if ward in hidden]))
        moved[taken] = data.draw(st.sampled_from(sorted(hidden - {wards[taken]})))
        assume(set(moved) == set(wards))  # a group that has no item left is not split otherwise
        two, screen_then = scored(moved, "two")
        assume(hidden_of(two) == hidden)
        for run in (one, two):
            (run.parent / "out").mkdir()
        first, second = published(one), published(two)
        assert len(first) >= 12
        assert "not shown" in first["report.html"]
        assert [name for name, text in first.items() if second[name] != text] == []
        assert screen_then == screen
