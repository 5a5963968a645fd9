"""What all tests share: a clean environment, the project's folders, and a PostgreSQL."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NoReturn

import pytest
from builds import (
    SYNTHETIC,
    SYNTHETIC_IV,
    Build,
    build_cdm_duckdb,
    build_cdm_postgres,
    build_duckdb,
    build_postgres,
)
from commands import PROJECT_ROOT, run_dbt, run_medeval
from dbt_worker import Worker
from hypothesis import HealthCheck, settings
from postgres_server import NoServerError, new_database, server

# How long an example takes says how busy the machine is, and nothing else.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")

_KEPT = {"MEDEVAL_SHARED", "MEDEVAL_REQUIRE_SHARED"}


def _clean_environment() -> None:
    """Take out what would point a test at the user's data, database or paid endpoint."""
    for name in list(os.environ):
        kept = name in _KEPT or name.startswith("MEDEVAL_TEST_")
        ours = name.startswith(("MEDEVAL_", "MTSAMPLES_", "PG"))
        if (ours and not kept) or name.endswith("_API_KEY"):
            del os.environ[name]


# While pytest imports this file, so that nothing of the suite has read the environment yet.
_clean_environment()


def _absent(reason: str) -> NoReturn:
    """Skip, unless the run must not skip anything."""
    if os.environ.get("MEDEVAL_REQUIRE_SHARED") == "1":
        pytest.fail(f"MEDEVAL_REQUIRE_SHARED=1, but {reason}", pytrace=False)
    pytest.skip(reason)


# Warehouses that several files of tests share, by the fixtures that build them.
_SHARED_WAREHOUSES = {
    "asked": {"asked_duckdb", "asked_export"},
    "mimic3": {
        *("open_demo_duckdb", "open_demo_postgres", "synthetic_duckdb", "synthetic_postgres"),
    },
    "cdm": {"cdm_duckdb", "cdm_postgres"},
}
_LONG = {"worker", "postgres_server"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put files that share a warehouse on one worker, which builds it once, and long files first.

    So short files fill up what is left at the end. Any other file stays together as well, so that
    what its tests share is made once.
    """
    fixtures: dict[Path, set[str]] = {}
    for item in items:
        fixtures.setdefault(item.path, set()).update(getattr(item, "fixturenames", ()))
    places: dict[Path, tuple[int, str]] = {}
    for path, used in fixtures.items():
        shared = [name for name, built in _SHARED_WAREHOUSES.items() if used & built]
        if shared:
            places[path] = (list(_SHARED_WAREHOUSES).index(shared[0]), shared[0])
        else:
            places[path] = (len(_SHARED_WAREHOUSES) + (not used & _LONG), path.stem)
    for item in items:
        item.add_marker(pytest.mark.xdist_group(places[item.path][1]))
    items.sort(key=lambda item: places[item.path][0])


@pytest.fixture(autouse=True)
def _umask() -> None:
    """Commands that run in this process close it; every test begins as a user's shell does."""
    os.umask(0o022)


@pytest.fixture(scope="session")
def project_root() -> Path:
    return PROJECT_ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    folder = Path(os.environ.get("MEDEVAL_SHARED") or PROJECT_ROOT.parent / "shared")
    if not folder.is_dir():
        _absent(f"there is no folder {folder} (MEDEVAL_SHARED)")
    return folder


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[dict[str, str]]:
    try:
        with server() as address:
            yield address
    except NoServerError as error:
        _absent(str(error))


@pytest.fixture
def postgres_database(postgres_server: dict[str, str]) -> Iterator[dict[str, str]]:
    with new_database(postgres_server) as address:
        yield address


@pytest.fixture(scope="session")
def session_database(postgres_server: dict[str, str]) -> Iterator[dict[str, str]]:
    with new_database(postgres_server) as address:
        yield address


@pytest.fixture(scope="session")
def other_session_database(postgres_server: dict[str, str]) -> Iterator[dict[str, str]]:
    with new_database(postgres_server) as address:
        yield address


@pytest.fixture(scope="session")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """A process that runs dbt with the project parsed."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        yield Worker(pool, tmp_path_factory.mktemp("dbt"))


@pytest.fixture(scope="session")
def open_demo_duckdb(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> Build:
    """The MIMIC-III demo on DuckDB, with every dbt test passed."""
    return build_duckdb(tmp_path_factory.mktemp("open-duckdb"), shared / "data" / "mimic3_demo")


@pytest.fixture(scope="session")
def open_demo_postgres(
    tmp_path_factory: pytest.TempPathFactory, shared: Path, session_database: dict[str, str]
) -> Build:
    """The MIMIC-III demo on PostgreSQL, with every dbt test passed."""
    folder = tmp_path_factory.mktemp("open-postgres")
    return build_postgres(folder, shared / "data" / "mimic3_demo", session_database)


@pytest.fixture(scope="session")
def synthetic_duckdb(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """The committed synthetic data on DuckDB, with every dbt test passed."""
    return build_duckdb(tmp_path_factory.mktemp("synthetic-duckdb"), SYNTHETIC)


@pytest.fixture(scope="session")
def synthetic_postgres(
    tmp_path_factory: pytest.TempPathFactory, other_session_database: dict[str, str]
) -> Build:
    """The committed synthetic data on PostgreSQL, with every dbt test passed."""
    folder = tmp_path_factory.mktemp("synthetic-postgres")
    return build_postgres(folder, SYNTHETIC, other_session_database)


@pytest.fixture(scope="session")
def asked_duckdb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's cases, notes and questions on DuckDB: the warehouse file of `run` and `doctor`."""
    folder = tmp_path_factory.mktemp("asked-duckdb")
    kinds = ["--resource-type", "seed", "--resource-type", "model"]
    built = run_dbt("build", "--select", "cdm", "mtsamples", "yier", *kinds, folder=folder)
    assert built.returncode == 0, built.stdout
    return folder / "medeval.duckdb"


@pytest.fixture(scope="session")
def asked_export(asked_duckdb: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the demo's exported cases."""
    out = tmp_path_factory.mktemp("asked-export")
    exported = run_medeval(
        "export", "--task", "cdm", "--out", out, env={"MEDEVAL_DUCKDB": str(asked_duckdb)}
    )
    assert exported.returncode == 0, exported.stderr
    return out / "cdm"


@pytest.fixture(scope="session")
def cdm_duckdb(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """The committed synthetic MIMIC-IV on DuckDB, with every dbt test passed."""
    return build_cdm_duckdb(tmp_path_factory.mktemp("cdm-duckdb"), SYNTHETIC_IV)


@pytest.fixture(scope="session")
def cdm_postgres(
    tmp_path_factory: pytest.TempPathFactory, postgres_server: dict[str, str]
) -> Iterator[Build]:
    """The committed synthetic MIMIC-IV on PostgreSQL, with every dbt test passed."""
    with new_database(postgres_server) as address:
        yield build_cdm_postgres(tmp_path_factory.mktemp("cdm-postgres"), SYNTHETIC_IV, address)
