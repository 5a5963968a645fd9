"""The net: every scenario does what it did when it was recorded.

`MEDEVAL_TEST_RECORD=1 pytest python/tests/cli/test_scenarios.py -k NAME` records anew.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from commands import PROJECT_ROOT
from in_process import main_in
from scenario_records import differences, pretty
from scenario_runner import Runner, Scenario, scenarios

RECORDS = PROJECT_ROOT / "python" / "tests" / "golden" / "scenarios"
SCENARIOS = scenarios()
_SHOWN = 40


@pytest.mark.parametrize(
    "scenario",
    [pytest.param(one, id=one.name, marks=[pytest.mark.slow] * one.slow) for one in SCENARIOS],
)
def test_a_scenario_does_what_was_recorded(
    scenario: Scenario,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    warehouse = request.getfixturevalue("asked_duckdb") if scenario.warehouse else tmp_path / "none"
    if scenario.warehouse == "copy":
        beside = tmp_path_factory.mktemp("warehouse")
        warehouse = shutil.copy(warehouse, beside / "medeval.duckdb")
    monkeypatch.setenv("MEDEVAL_DUCKDB", str(warehouse))
    monkeypatch.setenv("COLUMNS", "200")
    for name, value in scenario.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    found = Runner(scenario, tmp_path, main_in(monkeypatch, capsys)).record()
    record = RECORDS / f"{scenario.name}.json"
    if os.environ.get("MEDEVAL_TEST_RECORD") == "1":
        record.write_text(pretty(found) + "\n", encoding="utf-8")
    kept = json.loads(record.read_text(encoding="utf-8"))
    differing = list(differences(kept, json.loads(json.dumps(found))))
    assert not differing, "\n".join(
        [f"{len(differing)} differences from {record.name}:", *differing[:_SHOWN]]
    )


def test_every_record_is_of_a_scenario() -> None:
    names = [scenario.name for scenario in SCENARIOS]
    assert sorted(names) == sorted(set(names))
    assert {path.stem for path in RECORDS.glob("*.json")} == set(names)


def test_no_record_names_this_machine() -> None:
    for path in RECORDS.glob("*.json"):
        text = path.read_text(encoding="utf-8")
        assert str(PROJECT_ROOT) not in text, path
        assert "127.0.0.1" not in text, path
