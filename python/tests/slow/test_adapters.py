"""inspect_ai and lm-evaluation-harness run our tasks at an endpoint, and score them as we do."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from commands import PROJECT_ROOT, folder_of, run_medeval, run_program
from model_server import ModelServer, RuledEndpoint, model_server
from tables import table

from medeval.adapters.lm_eval import FolderScores, write_task

pytestmark = pytest.mark.slow
BIN = Path(sys.executable).parent
RULES = table("adapters")


@pytest.fixture(autouse=True)
def warehouse(asked_duckdb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDEVAL_DUCKDB", str(asked_duckdb))


def ours(server: ModelServer, out: Path, task: str, *options: str) -> dict[str, float]:
    """Return the metrics of `run` and `score`."""
    done = run_medeval(
        *("run", "--task", task, "--model", "m", "--base-url", server.url, "--out", out, *options)
    )
    folder = folder_of(done)
    scored = run_medeval("score", folder, "--n-iters", "0", "--json", code=0)
    (scores,) = json.loads(scored.stdout)["task_scores"].values()
    return {name: pytest.approx(value) for name, value in scores.items()}


def inspected(
    server: ModelServer, out: Path, task: str, *options: str, cwd: Path = PROJECT_ROOT
) -> dict[str, float]:
    """Return the metrics of `inspect eval`."""
    done = run_program(
        *(BIN / "inspect", "eval", f"medeval/{task}", "--model", "openai-api/local/m"),
        *("--model-base-url", server.url, "--log-dir", out, "--log-format", "json"),
        *("--display", "plain", *options),
        env={"LOCAL_API_KEY": "none"},
        cwd=cwd,
    )
    (log,) = out.glob("*.json")
    found = json.loads(log.read_text(encoding="utf-8"))
    assert found["status"] == "success", done.stdout
    (scores,) = found["results"]["scores"]
    return {name: one["value"] for name, one in scores["metrics"].items()}


@pytest.mark.parametrize(
    ("task", "name", "options"),
    [
        ("yier", "yier", ["samples=1"]),
        ("clinical_summarization_basic", "task_file", []),
        ("mtsamples_procedures", "mtsamples_procedures", ["judge=local"]),
    ],
)
def test_inspect_scores_as_we_do(task: str, name: str, options: list[str], tmp_path: Path) -> None:
    judge = ["--judge-model", "local"] if "judge=local" in options else []
    given = [*options, *([f"named={task}"] if name == "task_file" else [])]
    words = [word for one in given for word in ("-T", one)]
    with model_server(RuledEndpoint(RULES).script) as server:
        wanted = ours(server, tmp_path / "ours", task, *judge)
        asked = server.seen.requests
        assert inspected(server, tmp_path / "log", name, *words) == wanted
        assert server.seen.requests == 2 * asked


def test_inspect_plays_a_conversation_with_tools(asked_export: Path, tmp_path: Path) -> None:
    with model_server(RuledEndpoint(RULES).script) as server:
        wanted = ours(server, tmp_path / "ours", "cdm", "--cases", str(asked_export))
        found = inspected(server, tmp_path / "log", "cdm", "-T", f"cases={asked_export}")
        assert found == wanted


def test_inspect_sends_credentialed_text_only_to_declared_endpoints(tmp_path: Path) -> None:
    row = {"sample_id": "q1", "question": "secret?", "selection": ["a", "b"]}
    row |= {"answer_choices": ["a"]}
    questions = tmp_path / "questions.json"
    questions.write_text(json.dumps([row]), encoding="utf-8")
    option = ["-T", f"questions={questions}"]
    with model_server(RuledEndpoint(RULES).script) as server:
        with pytest.raises(AssertionError, match="Credentialed text may not go to"):
            inspected(server, tmp_path / "refused", "yier", *option)
        assert server.seen.requests == 0
        declared = tmp_path / "endpoints.toml"
        declared.write_text(f'[[endpoint]]\nbase_url = "{server.url}"\nruns_locally = true\n')
        inspected(
            server, tmp_path / "log", "yier", *option, "-T", f"endpoints={declared}", cwd=tmp_path
        )
        assert len((tmp_path / "runs" / "inspect-audit.jsonl").read_text().splitlines()) == 1
        assert server.seen.requests == 1


def own_choices(folder: Path) -> str:
    """Return a task file of questions with options."""
    rows = [
        {
            "input": {"question": f"Which is {number}", "options": ["four", "seven"]},
            "output": {"answer": letter},
        }
        for number, letter in ((4, "A"), (7, "B"), (7, "B"))
    ]
    task = {"task_id": "own_choices", "task_type": "multiple_choice", "data_class": "open"}
    file = folder / "own_choices.json"
    file.write_text(json.dumps({**task, "dataset": rows}), encoding="utf-8")
    return str(file)


@pytest.mark.parametrize("name", ["yier", "own_choices"])
def test_lm_eval_gives_our_metrics(name: str, tmp_path: Path) -> None:
    task = own_choices(tmp_path) if name == "own_choices" else name
    run_medeval("export", "--task", task, "--format", "lm-eval", "--out", tmp_path, code=0)
    with model_server(RuledEndpoint(RULES).script) as server:
        wanted = ours(server, tmp_path / "ours", task)
        address = f"base_url={server.url}/chat/completions"
        done = run_program(
            *(BIN / "lm_eval", "--model", "local-chat-completions"),
            *("--tasks", f"medeval_{name}", "--include_path", tmp_path),
            *("--apply_chat_template", "--output_path", tmp_path, "--model_args"),
            f"model=m,{address},num_concurrent=8,tokenizer_backend=None",
            env={"OPENAI_API_KEY": "none", "HF_HUB_OFFLINE": "1"},
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
    (file,) = tmp_path.rglob("results_*.json")
    found = json.loads(file.read_text(encoding="utf-8"))["results"][f"medeval_{name}"]
    assert {name: found[f"{name},none"] for name in wanted} == wanted


def test_lm_eval_reads_a_prompt_with_a_separator_of_lines(tmp_path: Path) -> None:
    task = {"task_id": "apart", "task_type": "qa", "data_class": "open", "metrics": ["exact_match"]}
    rows = [{"question": "Fever\u2028or cough?", "answer": "fever"}]
    file = tmp_path / "apart.json"
    file.write_text(json.dumps({**task, "dataset": rows}), encoding="utf-8")
    place = write_task(str(file), {}, tmp_path)
    (document,) = FolderScores(str(place / "code")).dataset()["test"]
    assert rows[0]["question"] in document["prompt"]
