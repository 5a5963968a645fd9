"""Failures are told apart before anything is tried again."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inference_runs import named_parts

from medeval.inference.errors import (
    Failure,
    Kind,
    RetryPolicy,
    failure_in_body,
    failure_of_response,
)
from medeval.inference.openai_model import ParameterFallbacks

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


def failure(status: int, message: str = "", headers: Any = None, **more: Any) -> Failure:
    body = json.dumps({"error": {"message": message, **more}})
    return failure_of_response(status, headers or {}, body, NOW)


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        (failure(408), Kind.TIMEOUT),
        (failure(409), Kind.SERVER),
        (failure(429, "slow down"), Kind.LIMIT),
        (failure(429, code="rate_limit_exceeded", type="requests"), Kind.LIMIT),
        (failure(500), Kind.SERVER),
        (failure(502), Kind.SERVER),
        (failure(503), Kind.SERVER),
        (failure(529), Kind.SERVER),
    ],
)
def test_what_may_pass_is_tried_again(found: Failure, kind: Kind) -> None:
    assert (found.kind, found.is_passing, found.stops_the_run) == (kind, True, False)


@pytest.mark.parametrize(
    ("found", "kind", "stops"),
    [
        (failure(429, code="insufficient_quota"), Kind.QUOTA, True),
        (failure(429, type="insufficient_quota", code="429"), Kind.QUOTA, True),
        (failure(429, "You exceeded your current quota, check your plan"), Kind.QUOTA, True),
        (failure(400, "insufficient_quota: top up"), Kind.QUOTA, True),
        (failure(403, "Your balance is insufficient"), Kind.QUOTA, True),
        (failure(402), Kind.QUOTA, True),
        (failure(401), Kind.KEY, True),
        (failure(403), Kind.KEY, True),
        (failure(404), Kind.MODEL, True),
        (failure(302), Kind.MODEL, True),
        (failure(400, "bad"), Kind.REQUEST, False),
        (failure(413), Kind.REQUEST, False),
        (failure(422), Kind.REQUEST, False),
        (failure(400, code="content_filter"), Kind.FILTER, False),
    ],
)
def test_what_cannot_pass_is_not_tried_again(found: Failure, kind: Kind, stops: bool) -> None:
    assert (found.kind, found.is_passing, found.stops_the_run) == (kind, False, stops)


def test_a_limit_by_the_minute_in_the_words_of_a_quota_is_a_limit() -> None:
    message = 'You exceeded your current quota. {"details": [{"retryDelay": "26s"}]}'
    found = failure(429, message)
    assert (found.kind, found.retry_after) == (Kind.LIMIT, 26.0)


@pytest.mark.parametrize(
    ("headers", "message", "seconds"),
    [
        ({"retry-after": "2"}, "", 2.0),
        ({"retry-after": "0.5"}, "", 0.5),
        ({"retry-after": "Thu, 01 Jan 2026 12:00:30 GMT"}, "", 30.0),
        ({"retry-after": "Thu, 01 Jan 2026 11:00:00 GMT"}, "", 0.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, "", 1.5),
        ({"retry-after": "soon"}, "", None),
        ({"retry-after": "-1"}, "", None),
        ({}, '{"error": {"details": [{"retryDelay": "7.5s"}]}}', 7.5),
        ({}, "no number", None),
    ],
)
def test_the_wait_that_an_endpoint_asks_for(
    headers: dict[str, str], message: str, seconds: float | None
) -> None:
    assert failure(429, message, headers).retry_after == seconds


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ('{"error": {"message": "x", "code": 429}}', Kind.LIMIT),
        ('{"error": {"message": "x", "code": 502}}', Kind.SERVER),
        ('{"error": {"message": "x", "code": "insufficient_quota"}}', Kind.QUOTA),
        ('{"error": "overloaded"}', Kind.SERVER),
        ('{"object": "error", "message": "x", "code": 400}', Kind.REQUEST),
        ('[{"error": {"code": 429, "message": "x"}}]', Kind.LIMIT),
    ],
)
def test_an_error_under_status_200_is_an_error(body: str, kind: Kind) -> None:
    found = failure_in_body(json.loads(body), body, NOW)
    assert found is not None
    assert found.kind is kind


def test_what_the_endpoint_wrote_is_in_the_detail_only() -> None:
    found = failure(400, "about the patient", code="two words", param="the patient")
    assert (found.code, found.parameter) == ("", "")
    assert "patient" not in json.dumps(found.without_detail().as_json()) + found.sentence()
    assert found.as_json()["detail"] == "about the patient"
    assert len(failure(400, "x" * 10_000).detail) == 200


def test_a_bad_key_is_never_repeated() -> None:
    assert failure(401, "Incorrect API key provided: sk-abc").detail == ""


@given(
    st.integers(1, 12),
    st.one_of(st.none(), st.floats(0, 300)),
    st.integers(0, 5),
    st.text(max_size=5),
)
def test_waits_are_the_same_again_bounded_and_never_shorter_than_told(
    attempt: int, told: float | None, seed: int, item: str
) -> None:
    policy = RetryPolicy(first_wait=1.0, longest_wait=20.0, seed=seed)
    found = Failure(Kind.LIMIT, retry_after=told)
    wait = policy.wait(found, item, attempt)
    assert wait == RetryPolicy(first_wait=1.0, longest_wait=20.0, seed=seed).wait(
        found, item, attempt
    )
    if told is None:
        own = min(20.0, 2.0 ** (attempt - 1))
        assert own / 2 <= wait <= own
    else:
        assert told <= wait <= told + 1.0


ASKED = {"max_tokens": 5, "temperature": 0, "response_format": {"type": "json_object"}, "seed": 1}


@pytest.mark.parametrize(
    ("found", "learned"),
    [
        (
            failure(
                400,
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use"
                " 'max_completion_tokens' instead.",
            ),
            {"max_tokens": "max_completion_tokens"},
        ),
        (failure(400, "x", code="unsupported_value", param="temperature"), {"temperature": ""}),
        (
            failure(400, "Unsupported value: 'temperature' does not support 0 with this model."),
            {"temperature": ""},
        ),
        (failure(422, "Extra inputs are not permitted: seed"), {"seed": ""}),
        (failure(400, "json_schema is not supported"), {"response_format": ""}),
        (
            failure(400, "x", code="unsupported_parameter", param="response_format.type"),
            {"response_format": ""},
        ),
    ],
)
def test_a_refused_parameter_is_the_first_to_be_left_out(
    found: Failure, learned: dict[str, str]
) -> None:
    assert named_parts(found, ASKED) == [learned]
    sent = ParameterFallbacks(learned).parameters(ASKED)
    assert sent == {learned.get(k, k): v for k, v in ASKED.items() if learned.get(k, k)}


@pytest.mark.parametrize(
    "found",
    [
        failure(400, "Invalid messages"),
        failure(400, "max_tokens is too large: 5"),
        failure(400, "context length exceeded, lower max_tokens", code="context_length_exceeded"),
        failure(400, "x", code="unsupported_parameter", param="messages"),
        failure(400, "logit_bias is not supported"),
        failure(500, "temperature is not supported"),
        failure(429, "temperature is not supported"),
    ],
)
def test_other_failures_teach_nothing(found: Failure) -> None:
    assert not named_parts(found, ASKED)


def test_a_limit_of_tokens_refused_under_both_names_is_an_error() -> None:
    learned = {"max_tokens": "max_completion_tokens"}
    found = failure(400, "x", code="unsupported_parameter", param="max_completion_tokens")
    assert not named_parts(found, ASKED, learned=learned)
    assert ParameterFallbacks(learned).parameters(ASKED)["max_completion_tokens"] == 5
