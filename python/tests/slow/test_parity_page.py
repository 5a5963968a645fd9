"""The page of parity says what `make parity` finds."""

from __future__ import annotations

import subprocess
import sys

import pytest
from commands import PROJECT_ROOT


@pytest.mark.slow
def test_the_page_says_what_is_found() -> None:
    check = [sys.executable, "tools/parity.py", "--check"]
    done = subprocess.run(check, cwd=PROJECT_ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr or "make parity writes another page"
    assert "**" not in (PROJECT_ROOT / "docs" / "parity.md").read_text(encoding="utf-8")
