"""Values worked out by hand or with other programs, on files made here: each claim of parity.

The large goldens lie outside the checkout; these are for whoever has not got them. Those of the ICU
tasks and of YIER are scored by the program that writes the page.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import PROJECT_ROOT, run_program
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


def test_the_page_of_parity_says_what_is_found() -> None:
    done = run_program(sys.executable, "tools/parity.py", "--check")
    assert done.returncode == 0, done.stderr or "make parity writes another page"
    assert "**" not in (PROJECT_ROOT / "docs" / "parity.md").read_text(encoding="utf-8")


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
    report = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    values = report["detailed_results"][0]["metrics_results"]
    assert values["reward"] == pytest.approx(case["reward"])
    assert values.get("reward_judged") == pytest.approx(case["reward_judged"])


@pytest.mark.parametrize("case", cases("task_scores"))
def test_task_models_give_the_documented_proxies(case: dict[str, Any]) -> None:
    task = getattr(task_types, case["task"])("golden")
    task.expected_outputs = case["references"]
    found = task.evaluate(case["outputs"])
    for name, value in case["expected"].items():
        assert found[name] == pytest.approx(value, abs=TOLERANCE), name
