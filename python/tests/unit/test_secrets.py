"""Secrets: a key in whatever form, and what has the name of a secret, is written nowhere."""

from __future__ import annotations

import base64
import json
import urllib.parse
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from harness_runs import Model, harness_for, questions
from hypothesis import given
from hypothesis import strategies as st
from inference_runs import ask, lines, open_item, provider_of
from model_server import Fault, Script, model_server
from tables import refused, table

from medeval.evaluation.model_runner import ModelSettings
from medeval.inference.secrets import (
    holds_secret,
    is_secret,
    key_from_environment,
    split_secrets,
    without_key,
)

TABLES = table("secrets")
KEY: str = TABLES["key"]
HIDDEN = "hunter22-0123456789"


def can_be_read(text: str) -> bool:
    """Tell whether the key, or the middle of it, can be got back from a text by any usual way."""
    unquoted = urllib.parse.unquote(urllib.parse.unquote(text.replace("\\", "")))
    found = [text, unquoted]
    for word in unquoted.replace("-", "+").replace("_", "/").replace('"', " ").split():
        for cut in range(4):
            usable = word[cut:].rstrip("=")
            try:
                found.append(base64.b64decode(usable[: len(usable) // 4 * 4]).decode("latin-1"))
            except ValueError:
                continue
    return any(KEY[3:-3] in each for each in found)


@pytest.mark.parametrize("form", TABLES["forms"].values(), ids=TABLES["forms"])
@pytest.mark.parametrize("place", TABLES["places"])
def test_no_form_of_a_key_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, place: str
) -> None:
    monkeypatch.setenv("MODELS_KEY", KEY)
    assert can_be_read(json.loads(f'"{form}"'))
    body = TABLES["places"][place].replace("%s", form)
    fault = Fault(200 if place == "reply" else 400, body)
    with model_server(Script(lambda body, before: fault)) as server:
        ask(server.url, tmp_path, [open_item("one")], key_variable="MODELS_KEY")
    (line,) = lines(tmp_path)
    assert line["outcome"] == ("answered" if place == "reply" else "errored")
    assert place != "reply" or "[key]" in line["text"]
    for path in tmp_path.iterdir():
        text = path.read_text(encoding="utf-8")
        for part in text.splitlines() if path.suffix == ".jsonl" else [text]:
            # Read as JSON and written without escapes: what a reader of the file gets to see.
            assert not can_be_read(json.dumps(json.loads(part), ensure_ascii=False)), path.name


@pytest.mark.parametrize(("body", "left"), TABLES["bodies"])
def test_a_body_says_the_same_without_the_key(body: str, left: str | None) -> None:
    assert without_key(body, KEY) == (left or body)
    assert without_key(body, "none") == body


@given(
    st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=40),
    st.text(max_size=8),
)
def test_a_body_of_json_stays_json(key: str, around: str) -> None:
    escaped = "".join(f"\\u{ord(each):04X}" for each in key)
    body = f'{{"m": "{escaped}", "n": {json.dumps(around + key + around)}}}'
    assert key not in "".join(json.loads(without_key(body, key)).values()).replace("[key]", "")


def test_a_body_of_escapes_takes_no_time() -> None:
    for body in ("\\" * 200_000, "%25" * 70_000, '{"a": "' + "\\\\" * 100_000 + '"}'):
        assert without_key(body, KEY) == body
        assert without_key(body + KEY, KEY).endswith("[key]")


@pytest.mark.parametrize(("variable", "value", "read"), TABLES["variables"])
def test_a_key_of_the_environment_can_be_sent(variable: str | None, value: str, read: str) -> None:
    environment = {str(variable): value}
    if " " not in read:
        assert key_from_environment(variable, environment) == read
        return
    told = refused(read, key_from_environment, variable, environment)
    assert "sk-" not in told


# By their names


@pytest.mark.parametrize(
    ("name", "expected"),
    [(name, kind == "secret") for kind, names in TABLES["names"].items() for name in names],
)
def test_a_secret_is_known_by_its_name(name: str, expected: bool) -> None:
    assert is_secret(name) == expected


def test_a_number_of_tokens_is_no_secret_but_a_number_as_password_is() -> None:
    assert not holds_secret("tokens", 512)
    assert holds_secret("tokens", ["abc"])
    assert holds_secret("password", 12345678)


@pytest.mark.parametrize(("text", "left"), TABLES["texts"])
def test_secrets_in_texts_are_taken_out(text: str, left: str | None) -> None:
    without, secrets = split_secrets(text)
    assert without == (left or text)
    found = any(HIDDEN in each for each in secrets)
    assert found == (left is not None)


@pytest.mark.parametrize(("parameters", "secret"), TABLES["parameters"])
def test_a_secret_among_the_parameters_of_an_endpoint_is_refused(
    tmp_path: Path, parameters: dict[str, Any], secret: str | None
) -> None:
    made = partial(provider_of, "http://127.0.0.1:9/v1", tmp_path, parameters=parameters)
    if secret is None:
        made()
        return
    assert HIDDEN not in refused(f"{secret} cannot be set", made)


def test_no_secret_of_a_model_is_in_its_settings_a_result_or_a_report(tmp_path: Path) -> None:
    given = TABLES["given"]
    found = ModelSettings("m", "local", given, {})
    assert found.recorded["parameters"] == TABLES["recorded"]
    quoted = found.scrubbed("401: " + " ".join(f"{HIDDEN}{letter}" for letter in "abcdefghij"))
    model = Model(lambda row: {"answer": "0"})
    model.metadata = {**given, "note": "kept"}
    with harness_for(tmp_path, questions(2)) as harness:
        report = harness.evaluate(
            "m", ["questions"], "interface", model=model, report_formats=["html", "json", "yaml"]
        )
    assert "kept" in report.to_json()
    texts = [each.read_text("utf-8") for each in tmp_path.rglob("*") if each.is_file()]
    assert len(texts) >= 4
    assert HIDDEN not in "".join([quoted, json.dumps(found.recorded), report.to_json(), *texts])
