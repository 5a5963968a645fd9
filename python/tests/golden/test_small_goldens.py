"""Values worked out by hand or with other programs, on files made here: each claim of parity.

The large goldens lie outside the checkout; these are for whoever has not got them.
"""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from commands import PROJECT_ROOT
from in_process import Main
from model_server import Script, model_server

from medeval.models import task_types

pytestmark = pytest.mark.usefixtures("checkout")
TOLERANCE = 1e-9
_HERE = PROJECT_ROOT / "python" / "tests" / "golden"
_INPUTS = PROJECT_ROOT / "python" / "tests" / "cli" / "inputs"


def cases(name: str) -> list[Any]:
    content = json.loads((_HERE / f"{name}.json").read_text(encoding="utf-8"))
    return [
        pytest.param(case, id=f"{name}-{number}") for number, case in enumerate(content["cases"])
    ]


def scores_in(path: Path) -> dict[str, Any]:
    report = json.loads(path.read_text(encoding="utf-8"))
    result: dict[str, Any] = report["detailed_results"][0]
    return result


@pytest.mark.parametrize("case", cases("icu_scores"))
def test_icu_scores_are_those_published(case: dict[str, Any], main: Main, tmp_path: Path) -> None:
    main(
        "score", "--task", case["task"], _INPUTS / case["prediction"],
        "--listfile", _INPUTS / case["listfile"], "--n-iters", str(case["n_iters"]),
        "--seed", str(case["seed"]), "--peer-layout", "--out", "scores.json", code=0,
    )  # fmt: skip
    found = json.loads((tmp_path / "scores.json").read_text(encoding="utf-8"))
    assert list(found) == list(case["expected"])
    for name, statistics in case["expected"].items():
        assert found[name] == pytest.approx(statistics, rel=TOLERANCE, abs=TOLERANCE), name


@pytest.mark.parametrize("case", cases("yier_scores"))
def test_yier_scores_are_counted_by_sets(case: dict[str, Any], main: Main, tmp_path: Path) -> None:
    shutil.copy(_INPUTS / "questions.json", tmp_path)
    handed = [
        {"sample_id": name, "predict_answers": given} for name, given in case["answers"].items()
    ]
    (tmp_path / "handed.json").write_text(json.dumps(handed), encoding="utf-8")
    main(
        "score", "--task", "yier", "handed.json", "--gold", "questions.json", "--n-iters", "0",
        "--out", "scores.json", code=0,
    )  # fmt: skip
    found = scores_in(tmp_path / "scores.json")
    details = found["metadata"]["details"]
    assert [details[name] for name in ("tp", "n_pred", "n_gold")] == [
        case[name] for name in ("tp", "n_pred", "n_gold")
    ]
    for name, fraction in case["expected"].items():
        assert found["metrics_results"][name] == pytest.approx(float(Fraction(*fraction))), name


@pytest.mark.parametrize("case", cases("judge_rewards"))
def test_a_verdict_becomes_rewards(case: dict[str, Any], main: Main, tmp_path: Path) -> None:
    shutil.copy(_INPUTS / "plan.yaml", tmp_path)
    reply = case["reply"] if isinstance(case["reply"], str) else json.dumps(case["reply"])
    with model_server(Script(reply=lambda body: reply)) as server:
        main(
            "run", "--task", "plan.yaml", "--model", "demo", "--judge-model", "j",
            "--judge-base-url", server.url, "--out", "runs",
        )  # fmt: skip
    (folder,) = (tmp_path / "runs").iterdir()
    main("score", "--task", "plan.yaml", folder, "--n-iters", "0", code=0)
    values = scores_in(folder / "scores.json")["metrics_results"]
    assert values["reward"] == pytest.approx(case["reward"])
    assert values.get("reward_judged") == pytest.approx(case["reward_judged"])


@pytest.mark.parametrize("case", cases("task_scores"))
def test_task_models_give_the_documented_proxies(case: dict[str, Any]) -> None:
    task = getattr(task_types, case["task"])("golden")
    task.expected_outputs = case["references"]
    found = task.evaluate(case["outputs"])
    for name, value in case["expected"].items():
        assert found[name] == pytest.approx(value, abs=TOLERANCE), name
