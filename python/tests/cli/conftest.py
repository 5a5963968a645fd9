"""The warehouse of the scenarios: everything that is built of the demo."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import run_dbt


@pytest.fixture(scope="session")
def demo_duckdb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All benchmarks of the demo on DuckDB: the warehouse file."""
    folder = tmp_path_factory.mktemp("demo-duckdb")
    benchmarks = ["cdm", "mimic3", "mimic3_features", "mtsamples", "yier"]
    kinds = ["--resource-type", "seed", "--resource-type", "model"]
    built = run_dbt("build", "--select", *benchmarks, *kinds, folder=folder)
    assert built.returncode == 0, built.stdout
    return folder / "medeval.duckdb"
