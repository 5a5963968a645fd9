"""The page of parity says what `make parity` finds."""

from __future__ import annotations

import sys

import pytest
from commands import PROJECT_ROOT, run_program


@pytest.mark.slow
def test_the_page_says_what_is_found() -> None:
    done = run_program(sys.executable, "tools/parity.py", "--check")
    assert done.returncode == 0, done.stderr or "make parity writes another page"
    assert "**" not in (PROJECT_ROOT / "docs" / "parity.md").read_text(encoding="utf-8")
