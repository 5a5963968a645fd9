"""Quotas, filters and waits as endpoints tell them in words of their own."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from medeval.inference.errors import Failure, Kind, failure_of_response

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)


def failure(
    status: int, message: str = "", headers: dict[str, str] | None = None, **more: Any
) -> Failure:
    body = json.dumps({"error": {"message": message, **more}}, ensure_ascii=False)
    return failure_of_response(status, headers or {}, body, NOW)


@pytest.mark.parametrize(
    ("status", "message", "code", "kind"),
    [
        (429, "您的账户已欠费，请充值后重试。", "1113", Kind.QUOTA),
        (429, "余额不足或无可用资源包,请充值。", "1113", Kind.QUOTA),
        (403, "额度已用尽", "", Kind.QUOTA),
        (400, "Access denied, please make sure your account is in good standing.", "Arrearage",
         Kind.QUOTA),
        (403, "Your account has an overdue balance.", "AccountOverdueError", Kind.QUOTA),
        (429, "Rate limit", "1302", Kind.LIMIT),
        (400, "Input data may contain inappropriate content.", "DataInspectionFailed",
         Kind.FILTER),
        (400, "Input data may contain inappropriate content.", "data_inspection_failed",
         Kind.FILTER),
        (400, "系统检测到输入或生成内容可能包含不安全或敏感内容", "1301", Kind.FILTER),
        (400, "余额", "", Kind.REQUEST),
        (403, "Your chosen model requires moderation and your input was flagged for harm", "",
         Kind.FILTER),
        (403, "The prompt was flagged", "", Kind.FILTER),
        (403, "Your account was flagged", "", Kind.KEY),
        (403, "You have no access to this model", "", Kind.KEY),
        (400, "The prompt was flagged", "", Kind.REQUEST),
    ],
)  # fmt: skip
def test_quota_and_filter_are_told_by_code_or_words(
    status: int, message: str, code: str, kind: Kind
) -> None:
    assert failure(status, message, code=code).kind is kind


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("Rate limit reached. Please try again in 20s. Visit the page.", 20),
        ("Please try again in 1m20.5s.", 80.5),
        ("Please try again in 6m0s.", 360),
        ("Please try again in 350ms.", 0.35),
        ("Please try again in 2h5m.", 7500),
        ("Please retry after 12 seconds.", 12),
        ("Please retry in 36.4s.", 36.4),
        ("Please try again in 5 minutes", 300),
        ("Please try again in 1234567890s", None),
        ("Please try again in 3 months", None),
        ("Please try again in a while", None),
        ("We waited 20s", None),
    ],
)
def test_a_wait_in_the_message_is_kept(message: str, seconds: float | None) -> None:
    assert failure(429, message).retry_after == seconds
    assert failure(503, message).retry_after == seconds
    assert failure(400, message).retry_after is None
    assert failure(429, message, {"retry-after": "7"}).retry_after == 7


def test_a_limit_by_the_minute_in_the_words_of_a_quota_is_waited_out() -> None:
    told = "You exceeded your current quota."
    assert failure(429, told).kind is Kind.QUOTA
    assert failure(429, f"{told} Please retry in 36.4s.").kind is Kind.LIMIT


@pytest.mark.parametrize(
    "date",
    [
        "Thu, 01 Jan 99999999999999999999 00:00:00 GMT",
        "Wed, 99 Foo 99999 99:99:99 +9999999",
        "Thu, 01 Jan 2026 00:00:00 +99999999999999999999",
        "soon",
    ],
)
def test_a_moment_of_no_calendar_is_no_wait(date: str) -> None:
    assert failure(429, "x", {"retry-after": date}).retry_after is None
