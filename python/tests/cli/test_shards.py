"""Parts of one run that several machines ask, and the run that is made of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from in_process import Main
from model_server import ModelServer, Script, model_server, prompt_hash

QUESTIONS = Path(__file__).parent / "inputs" / "questions.json"


def answer(folder: Path, main: Main, server: ModelServer, *words: str | Path) -> Path:
    """Ask the eight questions, or a part of them, and return the folder of the run."""
    before = set(folder.glob("*/*"))
    prices = folder / "prices.toml"
    prices.write_text('[[price]]\nmodel = "m"\ninput = 1\noutput = 3\n')
    done = main(
        "run", "--task", "yier", "--model", "m", "--base-url", server.url, "--questions",
        QUESTIONS, "--prices", prices, "--out", folder / "runs", *words,
    )  # fmt: skip
    assert done.code == 0, done.err
    (made,) = set(folder.glob("*/*")) - before
    return made


def scored(run: Path, main: Main) -> dict[str, Any]:
    done = main("score", run, "--n-iters", "0")
    assert done.code == 0, done.err
    report = json.loads((run / "scores.json").read_text(encoding="utf-8"))
    (result,) = report["detailed_results"]
    own = {"timestamp", "run_id"}  # of each run
    found: dict[str, Any] = {name: result[name] for name in result.keys() - own}
    found["metadata"] = {key: one for key, one in result["metadata"].items() if key not in own}
    return {**found, "overall_scores": report["overall_scores"]}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    # By the prompt: not all answers are alike.
    with model_server(Script(reply=lambda body: "AB"[int(prompt_hash(body), 16) % 2])) as server:
        yield server


@pytest.fixture
def shards(tmp_path: Path, main: Main, server: ModelServer) -> list[Path]:
    return [answer(tmp_path, main, server, "--shard", f"{n}/3") for n in (3, 1, 2)]


def test_merged_shards_are_scored_as_the_whole_run(
    tmp_path: Path, main: Main, server: ModelServer, shards: list[Path]
) -> None:
    done = main("merge", *shards, "--out", tmp_path / "merged")
    assert done.code == 0, done.err
    (merged,) = (tmp_path / "merged").iterdir()
    assert str(merged) in done.out
    whole = answer(tmp_path, main, server)
    ours = scored(merged, main)
    assert ours == scored(whole, main)
    assert float(ours["metadata"]["usage"]["all_calls"]["cost"]) > 0
    record = json.loads((merged / "run.json").read_text(encoding="utf-8"))
    assert sorted(record["shards"]) == sorted(shard.name for shard in shards)
    audits = [(run / "audit.jsonl").read_text().splitlines() for run in (merged, *shards)]
    assert sorted(audits[0]) == sorted(line for lines in audits[1:] for line in lines)
    assert main("run", "--resume", merged).code == 0  # nothing is left to ask


def test_what_is_no_whole_run_is_not_merged(
    tmp_path: Path, main: Main, server: ModelServer, shards: list[Path]
) -> None:
    other = answer(tmp_path, main, server, "--shard", "1/3", "--language", "en")
    whole = answer(tmp_path, main, server)
    for runs, said in (
        (shards[:2], "These are the shards 1/3, 3/3; name each of 1/3 to 3/3 once."),
        ([*shards, shards[0]], "These are the shards 1/3, 2/3, 3/3, 3/3"),
        ([shards[0], other, shards[2]], "are of two runs"),
        ([*shards[:2], whole], "it was begun without --shard"),
    ):
        done = main("merge", *runs, "--out", tmp_path / "merged")
        assert done.code == 2
        assert said in done.err
    assert not (tmp_path / "merged").exists()


def test_an_item_without_an_answer_is_named_with_the_shard_to_resume(
    tmp_path: Path, main: Main, shards: list[Path]
) -> None:
    journal = shards[1] / "responses.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-1]))
    done = main("merge", *shards, "--out", tmp_path / "merged")
    assert done.code == 2
    assert f"1 of shard 1/3, go on with `python -m medeval run --resume {shards[1]}`" in done.err
    assert main("run", "--resume", shards[1]).code == 0
    assert main("merge", *shards, "--out", tmp_path / "merged").code == 0


def test_a_line_of_another_shard_is_refused(tmp_path: Path, main: Main, shards: list[Path]) -> None:
    with (shards[0] / "responses.jsonl").open("ab") as journal:
        journal.write((shards[1] / "responses.jsonl").read_bytes())
    done = main("merge", *shards, "--out", tmp_path / "merged")
    assert (done.code, "is not of shard 3/3" in done.err) == (2, True), done.err


def test_a_shard_is_scored_by_nobody(main: Main, shards: list[Path]) -> None:
    done = main("score", shards[0])
    assert done.code == 2
    assert "is shard 3/3 of a run. Merge all of them first" in done.err


@pytest.mark.parametrize("shard", ["0/3", "4/3", "2", "a/b", "1/0"])
def test_a_shard_that_cannot_be_is_refused(tmp_path: Path, main: Main, shard: str) -> None:
    done = main(
        "run", "--task", "yier", "--questions", QUESTIONS, "--model", "demo", "--shard", shard,
        "--out", tmp_path / "runs",
    )  # fmt: skip
    assert (done.code, "name it as 2/8, the second of eight" in done.err) == (2, True), done.err
    assert not (tmp_path / "runs").exists()
