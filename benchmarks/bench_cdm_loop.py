"""What a CDM run takes with the demo model, beside a plain loop over the same cases.

python -m benchmarks.bench_cdm_loop                           # and the page
python -m benchmarks.bench_cdm_loop --scale 60 --runs 1       # smaller
python -m benchmarks.bench_cdm_loop --render                  # the page, nothing is measured
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.measuring import CommandFailedError, Usage, function, measure
from benchmarks.pages import Benchmark, Ratio, largest, say, typical
from benchmarks.warehouses import MEDEVAL, Workplace, synthesize

LABS = 250  # laboratory rows of an admission, as `synth` has them by default

# What is said at last of each case, and after how many turns.
Answers = dict[str, tuple[str, int]]


def loop(scale: int = 600, seed: int = 5, runs: int = 3) -> dict[str, Any]:
    """Both ways in turns through one export, which must say the same of every case."""
    ways: dict[str, dict[str, list[Usage]]] = {way: {"first": [], "all": []} for way in WAYS}
    with tempfile.TemporaryDirectory(prefix="medeval-bench-") as temporary:
        folder = Path(temporary)
        data = folder / "data"
        synthesize("mimic4", data, scale, LABS, seed)
        workplace = Workplace(folder / "ours", "cdm")
        workplace.build_and_export(MEDEVAL_MIMIC4_DIR=data, MEDEVAL_MIMIC4_NOTE_DIR=data)
        said: list[Answers] = []
        for number in range(1, runs + 1):
            for way, usages in ways.items():
                place = folder / f"{way}-{number}"
                usages["first"].append(WAYS[way](workplace.exports, place / "first", "1")[0])
                usage, answers = WAYS[way](workplace.exports, place / "all", "")
                usages["all"].append(usage)
                said.append(answers)
                say(f"{way}, run {number}: {len(answers):,} cases, {usage}")
        fewer = [max(1, len(said[0]) * part // 10) for part in (1, 2, 4)]
        growth = [run(workplace.exports, folder / f"{few}", str(few))[0] for few in fewer]
    if len(said[0]) < 2 or any(answers != said[0] for answers in said):
        raise CommandFailedError(
            "Both ways do not say the same of every case, or there is one only: take a larger"
            " --scale."
        )
    turns, cases = sum(turns for _, turns in said[0].values()), len(said[0])
    size = {"scale": scale, "seed": seed, "cases": cases, "turns": turns}
    return {**size, "ways": ways, "growth": growth}


def run(export: Path, folder: Path, first: str) -> tuple[Usage, Answers]:
    """Put cases to the demo model as a user does."""
    limit = ["--limit", first] if first else []
    command = [*MEDEVAL, "run", "--task", "cdm", "--model", "demo", *limit]
    usage = measure([*command, "--cases", export, "--out", folder])
    (responses,) = folder.glob("*/responses.jsonl")
    lines = _lines(responses)
    return usage, {line["item"]: (line["text"], line["episode"]["turns"]) for line in lines}


def case_by_case(export: Path, folder: Path, first: str) -> tuple[Usage, Answers]:
    """Put cases to it in a plain loop."""
    folder.mkdir(parents=True)
    usage = function("benchmarks.case_by_case:answer", export, folder / "answers.jsonl", first)
    lines = _lines(folder / "answers.jsonl")
    return usage, {line["item"]: (line["text"], line["turns"]) for line in lines}


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def rows(_name: str, part: dict[str, Any]) -> Iterator[Ratio]:
    """Return the row of the table of all benchmarks."""
    ours, theirs = part["ways"]["ours"]["all"], part["ways"]["loop"]["all"]
    growth = [*(each["user_s"] for each in part["growth"]), typical(ours)]
    figures = typical(ours), typical(theirs), largest(ours), largest(theirs)
    n = f"{part['cases']:,} cases"
    yield Ratio("run of CDM, demo model", "case by case", n, "user CPU s", *figures, growth)


WAYS = {"ours": run, "loop": case_by_case}
BENCHMARK = Benchmark(
    "cdm_loop",
    "cdm_loop",
    {"loop": loop},
    lambda part: ("medeval", "pydantic", "rapidfuzz"),
    rows=rows,
)

if __name__ == "__main__":
    BENCHMARK.main(__doc__)
