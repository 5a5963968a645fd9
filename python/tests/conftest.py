"""What all tests share: a clean environment, the project's folders, and a PostgreSQL."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from commands import PROJECT_ROOT
from postgres_server import NoServerError, new_database, server

_KEPT = {"MEDEVAL_SHARED", "MEDEVAL_REQUIRE_SHARED"}


def _clean_environment() -> None:
    """Take out what would point a test at the user's data, database or paid endpoint."""
    for name in list(os.environ):
        kept = name in _KEPT or name.startswith("MEDEVAL_TEST_")
        if (name.startswith(("MEDEVAL_", "PG")) and not kept) or name.endswith("_API_KEY"):
            del os.environ[name]


# While pytest imports this file, so that nothing of the suite has read the environment yet.
_clean_environment()


def _absent(reason: str) -> NoReturn:
    """Skip, unless the run must not skip anything."""
    if os.environ.get("MEDEVAL_REQUIRE_SHARED") == "1":
        pytest.fail(f"MEDEVAL_REQUIRE_SHARED=1, but {reason}", pytrace=False)
    pytest.skip(reason)


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
