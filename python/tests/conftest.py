"""What all tests share: a clean environment, the project's folders, and a PostgreSQL."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NoReturn

import commands
import pytest
from builds import SYNTHETIC, SYNTHETIC_IV, Build, build_demo, build_floor
from commands import PARSES, PROJECT_ROOT, link_project, run_medeval
from dbt_worker import Worked, Worker
from hypothesis import HealthCheck, settings
from in_process import Main, main_in
from postgres_server import Databases, NoServerError, new_database, server

# How long an example takes says how busy the machine is, and nothing else.
settings.register_profile("all", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# The same few examples in every run.
settings.register_profile("fast", settings.get_profile("all"), max_examples=15, derandomize=True)

_KEPT = {"MEDEVAL_SHARED", *(f"MEDEVAL_REQUIRE_{what}" for what in ("SHARED", "BROWSER", "SPARK"))}
_ENGINES = ("duckdb", "postgres")


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


# Whole builds with tests of dbt that several files share, by the fixtures that make them.
_SHARED_BUILDS = {
    "mimic3": {f"{data}_{engine}" for data in ("open_demo", "synthetic") for engine in _ENGINES},
    "cdm": {f"cdm_{engine}" for engine in _ENGINES},
}
# What uses one of these is slow.
_SLOW = {"postgres_server"}.union(*_SHARED_BUILDS.values())
# Files whose tests take longest; the net takes a quarter of those that are not slow.
_LONG = ("test_scenarios", "test_inference_runs", "test_export_cdm", "test_synth", "test_spark")


def pytest_configure(config: pytest.Config) -> None:
    """Draw few examples where slow tests are left out; make a folder for what dbt parses."""
    settings.load_profile("fast" if "not slow" in config.option.markexpr else "all")
    # Workers have the environment of the process that starts them.
    if PARSES not in os.environ:
        os.environ[PARSES] = tempfile.mkdtemp(prefix="medeval-parses-")
        config.add_cleanup(lambda: shutil.rmtree(os.environ.pop(PARSES)))


def pytest_unconfigure() -> None:
    commands.server.close()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what needs a server or a whole build as slow, and put files in their order.

    Files that share a build stay on one worker, which makes it once, and long files come first, so
    that short ones fill up what is left at the end. Any other file stays together as well, so that
    what its tests share is made once. Where slow tests are left out, those that run dbt share the
    one process that has the project parsed.
    """
    is_fast = "not slow" in config.option.markexpr
    builds = {"dbt": {"worker"}} if is_fast else _SHARED_BUILDS
    fixtures: dict[Path, set[str]] = {}
    for item in items:
        used = set(getattr(item, "fixturenames", ()))
        if used & _SLOW:
            item.add_marker(pytest.mark.slow)
        those = fixtures.setdefault(item.path, set())
        if not (is_fast and item.get_closest_marker("slow")):
            those.update(used)
    places: dict[Path, tuple[int, str]] = {}
    for path, used in fixtures.items():
        shared = [name for name, built in builds.items() if used & built]
        is_long = path.stem in _LONG or used & {"worker", "postgres_server"}
        if shared:
            places[path] = (list(builds).index(shared[0]), shared[0])
        else:
            places[path] = (len(builds) + (not is_long), path.stem)
    for item in items:
        item.add_marker(pytest.mark.xdist_group(places[item.path][1]))
    items.sort(key=lambda item: places[item.path][0])


def pytest_collection_finish(session: pytest.Session) -> None:
    """Stop a worker whose xdist does not see the groups: each would make every build anew.

    xdist 3.8 writes them into names that pytest reads no more from 9.2 on.
    """
    if getattr(session.config.option, "loadgroup", False):
        assert all("@" in item.nodeid for item in session.items), "xdist_group is not heeded"
    # What is loaded by now stays to the end, and is not gone through again by each collection.
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _umask() -> None:
    """Commands that run in this process close it; every test begins as a user's shell does."""
    os.umask(0o022)


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


@pytest.fixture(scope="session")
def databases(postgres_server: dict[str, str]) -> Iterator[Databases]:
    """What makes a new database, which is there to the end; its arguments are its locale's."""
    with ExitStack() as stack:
        yield lambda *locale: stack.enter_context(new_database(postgres_server, *locale))


@pytest.fixture
def postgres_database(postgres_server: dict[str, str]) -> Iterator[dict[str, str]]:
    with new_database(postgres_server) as address:
        yield address


@pytest.fixture(scope="session")
def worker() -> Iterator[Worker]:
    """A process that runs dbt with the project parsed."""
    with Worker(1, mp_context=get_context("spawn")) as process:
        yield process


@pytest.fixture
def built(worker: Worker, tmp_path: Path) -> Worked:
    """An empty folder for a warehouse on DuckDB."""
    return Worked(worker, tmp_path)


def _built(floor: str, engine: str, source: Path | None = None) -> Any:
    """Return a fixture: a floor whose tests of dbt have passed.

    Without files it is MIMIC-III's demo, without the unit tests.
    """

    @pytest.fixture(scope="session")
    def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Build:
        files = source or request.getfixturevalue("shared") / "data" / "mimic3_demo"
        folder = tmp_path_factory.mktemp(f"{floor}-{engine}")
        address = request.getfixturevalue("databases")() if engine == "postgres" else None
        return build_floor(floor, folder, files, address, unit_tests=source is not None)

    return built


open_demo_duckdb = _built("mimic3", "duckdb")
open_demo_postgres = _built("mimic3", "postgres")
synthetic_duckdb = _built("mimic3", "duckdb", SYNTHETIC)
synthetic_postgres = _built("mimic3", "postgres", SYNTHETIC)
cdm_duckdb = _built("cdm", "duckdb", SYNTHETIC_IV)
cdm_postgres = _built("cdm", "postgres", SYNTHETIC_IV)


@pytest.fixture(scope="session")
def features_postgres(synthetic_postgres: Build) -> Build:
    """The synthetic data of MIMIC-III on PostgreSQL, with the features of the baselines."""
    synthetic_postgres.dbt("build", "--select", "mimic3_features")
    return synthetic_postgres


@pytest.fixture
def main(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Main:
    """What runs a command in this process, given as words."""
    return main_in(monkeypatch, capsys)


@pytest.fixture
def checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The current folder: an empty one that looks like a checkout."""
    link_project(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def demo_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of the demo's warehouse that `make setup` builds: no test of dbt is run.

    MEDEVAL_TEST_WAREHOUSE names that warehouse; where it is not set, it is built here.
    """
    folder = tmp_path_factory.mktemp("demo")
    if given := os.environ.get("MEDEVAL_TEST_WAREHOUSE"):
        shutil.copy(given, folder / "medeval.duckdb")
    else:
        build_demo(folder)
    return folder


@pytest.fixture(scope="session")
def demo_cdm(demo_folder: Path) -> Build:
    """The demo's warehouse, whose exports are those of CDM."""
    return Build("duckdb", demo_folder, floor="cdm")


@pytest.fixture(scope="session")
def demo_mimic3(demo_folder: Path) -> Build:
    """The demo's warehouse, whose exports are those of MIMIC-III."""
    return Build("duckdb", demo_folder)


@pytest.fixture(scope="session")
def asked_duckdb(demo_folder: Path) -> Path:
    """The demo's cases, notes and questions on DuckDB: the warehouse file of `run` and `doctor`."""
    return demo_folder / "medeval.duckdb"


@pytest.fixture(scope="session")
def asked_export(asked_duckdb: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the demo's exported cases."""
    out = tmp_path_factory.mktemp("asked-export")
    named = {"MEDEVAL_DUCKDB": str(asked_duckdb)}
    run_medeval("export", "--task", "cdm", "--out", out, env=named, code=0)
    return out / "cdm"


# What is counted is time of CPU, which other work on the machine does not change: that of this
# process and of those that it has waited for.
_LONG_FOR_A_FAST_TEST = 2.0


def _cpu_seconds() -> float:
    return sum(os.times()[:4]) + commands.server.cpu_seconds


def _counted(item: pytest.Item, phase: str) -> Generator[None]:
    began = _cpu_seconds()
    try:
        return (yield)
    finally:
        item.user_properties.append((f"cpu_{phase}", _cpu_seconds() - began))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    return (yield from _counted(item, "setup"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    return (yield from _counted(item, "call"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List what takes long and is not marked as slow; set-up is that of a test's fixtures too."""
    found = {
        (seconds, name.removeprefix("cpu_"), report.nodeid)
        for outcome in ("passed", "failed", "error")
        for report in terminalreporter.stats.get(outcome, [])
        if isinstance(report, pytest.TestReport) and "slow" not in report.keywords
        for name, seconds in report.user_properties
        if name.startswith("cpu_") and seconds > _LONG_FOR_A_FAST_TEST
    }
    if found:
        title = f"above {_LONG_FOR_A_FAST_TEST:g} s of CPU and not marked as slow"
        terminalreporter.section(title)
        for seconds, phase, nodeid in sorted(found, reverse=True):
            terminalreporter.line(f"{seconds:6.1f}s {phase:8} {nodeid}")
