"""A reply that ends for want of tokens: outcome by what of it was thought."""

from __future__ import annotations

from pathlib import Path

import pytest
from in_process import main_in
from scripted_questions import Answered, asked

HIDDEN = {"prompt_tokens": 9, "completion_tokens": 50}


@pytest.mark.parametrize("thought", [50, 51, 20, None])
def test_a_budget_that_hidden_thinking_ate_is_a_cut_thought(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    thought: int | None,
) -> None:
    cut: Answered = {"content": "", "finish_reason": "length"}
    details = {"completion_tokens_details": {"reasoning_tokens": thought}}
    ran = asked(main_in(monkeypatch, capsys), tmp_path, [cut], usage={**HIDDEN, **details})
    whole = thought is not None and thought >= 50
    assert ran.outcomes == ["truncated_reasoning" if whole else "truncated"]
