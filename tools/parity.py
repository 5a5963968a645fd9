"""How far scores are from those of the reference programs: writes docs/parity.md.

    python tools/parity.py           # the page
    python tools/parity.py --check   # exit 1 where it is not what the page says

Inputs and expected values are committed (python/tests/golden, python/tests/cli/inputs); each file
says how its values were made. Scores are made through the command line.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from fractions import Fraction
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

from medeval import cli

# Benchmark, what is scored, the reference, and the differences of all values.
Row = tuple[str, str, str, list[float]]
ROOT = Path(__file__).resolve().parents[1]
GOLDEN, INPUTS = ROOT / "python/tests/golden", ROOT / "python/tests/cli/inputs"
PAGE = ROOT / "docs/parity.md"
# Sums in another order differ by less; what differs by more is another number.
SAME = 1e-9
_TASKS = {
    "ihm": "in-hospital mortality",
    "decomp": "decompensation",
    "los": "length of stay",
    "pheno": "phenotyping",
}
_HEAD = """\
# Parity with the reference programs

<!-- Written by `make parity`. -->

What a reference gives on committed inputs, and how far the scores made here are from it.
Differences are relative above 1. [Differences from the published programs](differences.md) has what
is other on purpose.

| benchmark | score | reference | values | largest difference |
| --- | --- | --- | ---: | --- |
"""
_FOOT = """
The outputs of the published programs on the open MIMIC-III demo and on MTSamples are larger, and
compared by tests where they are at hand: listfiles row for row, time series cell for cell, CDM
cases byte for byte, examples of MTSamples, and scores to 1e-9.
"""


def scored(folder: Path, *words: object) -> Any:
    """Return what `score` writes; the command runs in this process, which starts it only once."""
    out = folder / "scores.json"
    out.unlink(missing_ok=True)
    command = ["medeval", "score", *map(str, words), "--out", str(out)]
    with (
        chdir(ROOT), redirect_stdout(StringIO()), redirect_stderr(StringIO()),
        patch("sys.argv", command), suppress(SystemExit),
    ):  # fmt: skip
        cli.main()
    return json.loads(out.read_text(encoding="utf-8"))


def difference(found: float, expected: float) -> float:
    """Return how far two values are apart, relative above 1."""
    return abs(found - expected) / max(1.0, abs(expected))


def icu(folder: Path) -> Iterator[Row]:
    """Score the ICU tasks with the draws of the published programs."""
    for case in json.loads((GOLDEN / "icu_scores.json").read_text(encoding="utf-8"))["cases"]:
        found = scored(
            folder, "--task", case["task"], INPUTS / case["prediction"],
            "--listfile", INPUTS / case["listfile"], "--n-iters", case["n_iters"],
            "--seed", case["seed"], "--peer-layout",
        )  # fmt: skip
        gaps = [
            difference(found[name][statistic], value)
            for name, statistics in case["expected"].items()
            if isinstance(statistics, dict)
            for statistic, value in statistics.items()
        ]
        what = f"values and {case['n_iters']} resamples, seed {case['seed']}"
        yield f"MIMIC-III ICU, {_TASKS[case['task']]}", what, "scikit-learn and numpy", gaps


def yier(folder: Path) -> Iterator[Row]:
    """Score answers to questions whose sets were counted by hand."""
    for case in json.loads((GOLDEN / "yier_scores.json").read_text(encoding="utf-8"))["cases"]:
        handed = folder / "handed.json"
        answers = [
            {"sample_id": name, "predict_answers": given} for name, given in case["answers"].items()
        ]
        handed.write_text(json.dumps(answers), encoding="utf-8")
        gold = INPUTS / "questions.json"
        found = scored(folder, "--task", "yier", handed, "--gold", gold, "--n-iters", 0)
        metrics = found["detailed_results"][0]["metrics_results"]
        gaps = [
            difference(metrics[name], float(Fraction(*value)))
            for name, value in case["expected"].items()
        ]
        yield "YIER-LLM", f"answers: {case['name']}", "counted by hand, as fractions", gaps


def page() -> str:
    """Score all that is committed, and return the page."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for made in (icu, yier):
            for benchmark, what, reference, gaps in made(Path(folder)):
                largest = f"below {SAME:g}" if max(gaps) < SAME else f"**{max(gaps):.1e}**"
                rows.append(f"| {benchmark} | {what} | {reference} | {len(gaps)} | {largest} |")
    return _HEAD + "\n".join(rows) + "\n" + _FOOT


def main() -> int:
    """Write the page, or tell whether it is as it should be."""
    made = page()
    if "--check" in sys.argv[1:]:
        return int(made != PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(made, encoding="utf-8")
    print(PAGE.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
