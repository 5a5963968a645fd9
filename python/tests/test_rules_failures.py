"""Rules of telling failures apart that a small change of them could break unseen."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from medeval.inference.error_bodies import Words
from medeval.inference.errors import Failure, Kind, failure_of_response, refuses_tools_by

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


def failure(status: int, message: str = "", **more: Any) -> Failure:
    body = json.dumps({"error": {"message": message, **more}})
    return failure_of_response(status, {}, body, NOW)


@pytest.mark.parametrize("code", ["content_filter", "content_policy_violation"])
def test_each_word_for_a_filter_is_a_declined_prompt(code: str) -> None:
    assert failure(400, code=code).kind is Kind.FILTER
    # An endpoint that fails has declined nothing.
    assert failure(500, code=code).kind is Kind.SERVER


@pytest.mark.parametrize("status", [401, 403])
def test_what_is_said_of_a_key_is_never_repeated(status: int) -> None:
    assert failure(status, "The key sk-abc is not allowed here").detail == ""


@pytest.mark.parametrize("status", [400, 404, 405, 422, 500, 501])
def test_each_status_with_which_tools_are_refused_is_a_refusal(status: int) -> None:
    message = "This model does not support tools"
    assert refuses_tools_by(status, Words(message, ""))
    assert failure(status, message).kind is Kind.REQUEST


@pytest.mark.parametrize("status", [401, 403, 429, 502, 503])
def test_words_about_tools_under_another_status_are_no_refusal(status: int) -> None:
    assert not refuses_tools_by(status, Words("This model does not support tools", ""))


@pytest.mark.parametrize("code", ["ConnectError", "ConnectTimeout"])
def test_what_was_never_connected_is_not_billed(code: str) -> None:
    assert not Failure(Kind.CONNECTION, code=code).is_perhaps_billed
    assert Failure(Kind.CONNECTION, code="ReadError").is_perhaps_billed


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_gateway_with_nothing_behind_it_is_nobody(status: int) -> None:
    found = failure(status)
    assert (found.is_unreached, found.came_back) == (True, False)


def test_an_endpoint_that_fails_itself_has_come_back_and_one_that_is_late_has_not() -> None:
    assert (failure(500).is_unreached, failure(500).came_back) == (False, True)
    late = Failure(Kind.TIMEOUT)
    assert (late.is_unreached, late.came_back) == (False, False)


def test_a_code_of_more_than_sixty_characters_may_be_text_and_is_not_kept() -> None:
    assert failure(400, code="a" * 60).code == "a" * 60
    assert failure(400, code="a" * 61, param="b" * 61).code == ""
