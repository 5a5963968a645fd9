"""Figures and LaTeX tables of `report`: what each task is drawn as, well-formed and repeatable."""

from __future__ import annotations

import json
import re
import struct
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pandas as pd
import pytest
from commands import contents
from in_process import Main
from reports import write_report
from tables import table

pytestmark = pytest.mark.usefixtures("checkout")
SVG = "{http://www.w3.org/2000/svg}"
COLUMN_MM, DOTS_PER_INCH = 89, 600
GIVEN = table("report_figures")
DRAWN = GIVEN["drawn"]
INPUTS = Path(__file__).with_name("inputs")
SHORT = dict(zip(DRAWN, ("ihm", "decomp", "los", "pheno"), strict=True))


def scored(main: Main, task: str) -> Path:
    """Score predictions of 400 stays, drawn from those of an input, in a run's folder."""
    folder, few = Path(f"run_{task}"), pd.read_csv(INPUTS / f"{SHORT[task]}_a.csv")
    rows = few.sample(400, replace=True, random_state=7)
    rows["stay"] = [f"{number}_episode1_timeseries.csv" for number in range(400)]
    rows.filter(regex="^(?!pred)").to_csv("list.csv", index=False)
    folder.mkdir()
    rows.to_csv(folder / "predictions.csv", index=False)
    given = "--task", task, folder, "--test_listfile", "list.csv", "--n-iters", "50"
    main("score", *given, "--out", "values.json", code=0)
    return folder


def texts_of(svg: Path) -> list[str]:
    root = ET.fromstring(svg.read_bytes())
    assert root.tag == f"{SVG}svg"
    return ["".join(one.itertext()) for one in root.iter(f"{SVG}text")]


@pytest.mark.parametrize("task", DRAWN)
def test_a_score_describes_the_plots_that_its_task_calls_for(task: str, main: Main) -> None:
    folder = scored(main, task)
    report = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    plots = report["detailed_results"][0]["metadata"]["plots"]
    assert [plot["name"] for plot in plots] == DRAWN[task]
    for plot in plots:
        counts = [*plot.get("n", []), *(one for row in plot.get("cells", []) for one in row)]
        assert not [one for one in counts if one is not None and 0 < one < 11]
        if plot["kind"] in ("curve", "bars"):
            assert len(plot["y"]) == len(plot["low"]) == len(plot["high"]) > 3


@pytest.mark.slow
@pytest.mark.parametrize("task", DRAWN)
def test_figures_are_written_in_three_forms_as_wide_as_a_column(task: str, main: Main) -> None:
    folder = scored(main, task)
    done = main("report", folder, "--figures", "figures", code=0)
    names = [f"{task}_{name}" for name in ("metrics", *DRAWN[task])]
    files = sorted(f"{name}.{form}" for name in names for form in ("svg", "pdf", "png"))
    assert sorted(one.name for one in Path("figures").iterdir()) == sorted(["captions.md", *files])
    assert [Path(line).name for line in done.out.split()[1:]] != []
    for name in names:
        content = Path("figures", f"{name}.png").read_bytes()
        assert content.startswith(b"\x89PNG")
        width = struct.unpack(">I", content[16:20])[0]
        assert width / DOTS_PER_INCH * 25.4 == pytest.approx(COLUMN_MM, abs=0.1)
        assert Path("figures", f"{name}.pdf").read_bytes().startswith(b"%PDF-")
        assert texts_of(Path("figures", f"{name}.svg"))
    captions = Path("figures", "captions.md").read_text(encoding="utf-8")
    assert all(f"**{name}**" in captions for name in names)


@pytest.mark.slow
def test_figures_have_the_same_bytes_each_time_and_are_for_the_owner(main: Main) -> None:
    file = write_report(Path("one.json"), "m", "t", **GIVEN["report"])
    for folder in ("first", "again"):
        main("report", file, "--out", f"{folder}.md", "--figures", folder, code=0)
    found = contents(Path("first"))
    assert found == contents(Path("again"))
    assert set(found) == {"captions.md", *(f"t_metrics.{form}" for form in ("svg", "pdf", "png"))}
    assert all(one.stat().st_mode & 0o077 == 0 for one in Path("first").iterdir())
    texts = texts_of(Path("first/t_metrics.svg"))
    assert "0.400 [0.200, 0.600]" in texts
    # What has another scale is named, not drawn.
    assert "hours" in found["captions.md"].decode()
    assert not [one for one in texts if "hours" in one]


def test_names_are_drawn_as_they_are_and_hidden_groups_without_a_value(main: Main) -> None:
    file = write_report(Path("named.json"), "m", "t", **GIVEN["named"])
    main("report", file, "--out", "one.md", "--figures", "figures", code=0)
    assert len(list(Path("figures").iterdir())) == 4
    texts = texts_of(Path("figures/t_by_group.svg"))
    assert texts.count(r"$a$ <b> &\x1b[1m " + "\u5fc3") == 2
    assert "not shown" in texts
    assert "0.500 [0.400, 0.600]" in texts


def test_figures_without_matplotlib_say_so(main: Main, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write_report(Path("one.json"), "m", "t", **GIVEN["report"])
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    done = main("report", file, "--out", "one.html", "--figures", "figures", code=2)
    assert "pip install 'medeval[plots]'" in done.err
    assert not Path("one.html").exists()
    assert not Path("figures").exists()


def test_bars_of_a_leaderboard_lie_on_one_axis_also_beyond_1(main: Main) -> None:
    known = {"metadata": {"task_hash": "a" * 64}}
    for model, points in (("x", 3.0), ("y", -1.0)):
        write_report(Path(model, "scores.json"), model, "t", {"points": points}, **known)
    main("leaderboard", "x", "y", code=0)
    page = Path("leaderboard.html").read_text(encoding="utf-8")
    assert "-1 to 3" in page
    places = re.findall(r'class="range" x1="([\d.]+)"', page)
    assert [float(one) for one in places] == [195.0, 5.0]
