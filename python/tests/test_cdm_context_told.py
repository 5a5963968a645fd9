"""What is said of a context that is too short, and of one whose length nobody has stated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cdm_bedside import demo_reply
from cdm_cases import rows
from cdm_runs import plain, run_cdm
from inference_runs import provider_of
from model_server import Script, model_server

from medeval.cdm.context import budget_in
from medeval.errors import UserError
from medeval.inference.tokens import ContextWindow, EstimatedTokens, LimitFrom

MARGIN = 100
NOBODY_SAYS = "nobody says how much {} takes in; longer than 8,192 tokens is shortened."


@pytest.mark.parametrize(
    ("limit", "limit_from", "parameters", "told"), rows("what_leaves_no_room_is_named")
)
def test_what_leaves_no_room_is_named(
    tmp_path: Path, limit: int, limit_from: LimitFrom, parameters: dict[str, Any], told: str
) -> None:
    provider = provider_of("http://127.0.0.1:9/v1", tmp_path, parameters=parameters)
    window = ContextWindow(limit, limit_from, EstimatedTokens())
    with pytest.raises(UserError, match=told) as raised:
        budget_in(window, provider, MARGIN)
    assert ("max_tokens lower" in str(raised.value)) is ("max_tokens keeps" in told)


def test_one_token_is_room(tmp_path: Path) -> None:
    window = ContextWindow(101, "user", EstimatedTokens())
    assert budget_in(window, provider_of("http://127.0.0.1:9/v1", tmp_path), MARGIN).size == 1


def test_a_length_that_nobody_has_stated_is_told(tmp_path: Path, asked_export: Path) -> None:
    with model_server(Script(reply=demo_reply)) as server:
        supposed, stated = (
            run_cdm(
                tmp_path, asked_export, "--model", "m", "--base-url", server.url, "--limit", "1",
                *limit,
            )
            for limit in ((), ("--context-limit", "8192"))
        )  # fmt: skip
    assert (supposed.returncode, stated.returncode) == (0, 0)
    assert NOBODY_SAYS.format("m") in plain(supposed.stderr)
    assert "nobody says" not in stated.stderr


def test_a_function_says_nothing_of_its_length_and_a_built_in_model_needs_not(
    tmp_path: Path, asked_export: Path
) -> None:
    path = tmp_path / "model.py"
    path.write_text(
        "def reply(messages):\n    return 'Diagnosis: appendicitis\\nTreatment: surgery'\n",
        encoding="utf-8",
    )
    own = run_cdm(
        tmp_path / "own", asked_export, "--model", f"{path}:reply", "--tool-protocol", "text",
        "--limit", "1",
    )  # fmt: skip
    assert "tokens is shortened" in plain(own.stderr)
    built_in = run_cdm(tmp_path / "built_in", asked_export, "--model", "demo", "--limit", "1")
    assert (own.returncode, built_in.returncode) == (0, 0)
    assert "nobody says" not in built_in.stderr
