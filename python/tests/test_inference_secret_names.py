"""Secrets are known by their names: in parameters however deep, in addresses, in settings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import run_medeval
from harness_runs import Model, harness_for, questions
from inference_runs import provider_of

from medeval.errors import UserError
from medeval.evaluation.harness_settings import WITHHELD, model_settings
from medeval.inference.secrets import (
    bare_address,
    holds_secret,
    is_secret,
    secret_places,
    secrets_in_text,
    text_without_secrets,
)

HIDDEN = "hunter22-0123456789"


@pytest.mark.parametrize(
    "name",
    [
        *("accesskey", "secretkey", "AccountKey", "clientsecret", "api_keys", "apikeys", "keys"),
        *("pwd", "userpwd", "db_pwd", "accesstoken", "tokens", "access_tokens", "jwt", "sas_token"),
        *("blob_sas", "sig", "user_sig", "signature", "dbpassword", "passwords", "secrets"),
    ],
)
def test_names_in_one_word_and_lists_of_secrets_are_known(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        *("max_tokens", "max_new_tokens", "min_tokens", "stop_tokens", "prompt_tokens", "n_tokens"),
        *("skip_special_tokens", "required_keys", "input_keys", "monkey", "turkey", "hockey"),
        *("tokenizer", "keyword", "design", "config", "temperature", "sigma", "code", "answer"),
    ],
)
def test_counts_and_words_are_no_secrets(name: str) -> None:
    assert not is_secret(name)


def test_a_number_of_tokens_is_no_secret_but_a_number_as_password_is() -> None:
    assert not holds_secret("tokens", 512)
    assert holds_secret("tokens", ["abc"])
    assert holds_secret("password", 12345678)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"Server=tcp:h;Password={HIDDEN};Db=x", f"Server=tcp:h;Password={WITHHELD};Db=x"),
        (f"host=h password='{HIDDEN} 1' dbname=x", f"host=h password={WITHHELD} dbname=x"),
        (f"AccountName=a;AccountKey={HIDDEN}==;X=1", f"AccountName=a;AccountKey={WITHHELD};X=1"),
        (f"Shared Access Key = {HIDDEN}", f"Shared Access Key = {WITHHELD}"),
        (f"Pwd={{{HIDDEN};1}};A=b", f"Pwd={WITHHELD};A=b"),
        (f'{{"token": "{HIDDEN}", "n": 1}}', f'{{"token": {WITHHELD}, "n": 1}}'),
        (f"https://h/f?sig={HIDDEN}&sv=2&code={HIDDEN}", "https://h/f?sv=2"),
        (f"see https://u:{HIDDEN}@h/x#y for it", "see https://h/x for it"),
        (f"postgresql://u:{HIDDEN}@h:5432/db", "postgresql://h:5432/db"),
        (f"https://[h?key={HIDDEN}", WITHHELD),
        ("Answer with a=1; max_tokens=20, or https://h/v1?v=2", None),
    ],
)
def test_secrets_in_texts_are_taken_out(text: str, left: str | None) -> None:
    assert text_without_secrets(text) == (text if left is None else left)
    found = secrets_in_text(text)
    if left is None:
        assert found == []
    elif "[h" not in text:
        assert any(HIDDEN in each for each in found)


def test_an_address_of_user_and_query_is_bared() -> None:
    assert bare_address(f"https://u:p@h:8443/v1?api_key={HIDDEN}&v=2#f") == "https://h:8443/v1?v=2"


GIVEN: dict[str, Any] = {
    "accesskey": HIDDEN + "a",
    "secretkey": HIDDEN + "b",
    "pwd": HIDDEN + "c",
    "api_keys": [HIDDEN + "d", HIDDEN + "e"],
    "database": f"Server=h;Password={HIDDEN}f;",
    "url": f"https://h/x?sig={HIDDEN}g&code={HIDDEN}h",
    "headers": [["Authorization", f"Bearer {HIDDEN}i"]],
    "servers": [{"token": HIDDEN + "j"}],
    "max_tokens": 5,
}


def test_no_secret_among_parameters_is_recorded_or_repeated() -> None:
    found = model_settings("m", "local", GIVEN, {})
    quoted = " ".join(f"{HIDDEN}{letter}" for letter in "abcdefghij")
    written = json.dumps([found.recorded, found.decisive]) + found.scrubbed(f"401: {quoted}")
    assert HIDDEN not in written
    assert found.recorded["parameters"] == {
        "database": f"Server=h;Password={WITHHELD};",
        "url": "https://h/x",
        "headers": WITHHELD,
        "servers": [{}],
        "max_tokens": 5,
    }


def test_no_secret_of_a_model_is_in_a_result_or_report(tmp_path: Path) -> None:
    model = Model(lambda row: {"answer": "0"})
    model.metadata = {**GIVEN, "note": "kept"}
    with harness_for(tmp_path, questions(2)) as harness:
        report = harness.evaluate(
            "m", ["questions"], "interface", model=model, report_formats=["html", "json", "yaml"]
        )
    assert "kept" in report.to_json()
    texts = [each.read_text("utf-8") for each in tmp_path.rglob("*") if each.is_file()]
    assert len(texts) >= 4
    assert HIDDEN not in report.to_json() + "".join(texts)


@pytest.mark.parametrize(
    ("parameters", "place"),
    [
        ({"metadata": {"api_key": HIDDEN}}, r"metadata\.api_key"),
        ({"a": [{"b": {"tokens": [HIDDEN]}}]}, r"a\.b\.tokens"),
        ({"pwd": HIDDEN}, "pwd"),
        ({"accesskey": HIDDEN}, "accesskey"),
    ],
)
def test_a_secret_among_the_parameters_of_an_endpoint_is_refused(
    tmp_path: Path, parameters: dict[str, Any], place: str
) -> None:
    with pytest.raises(UserError, match=f"{place} cannot be set") as refused:
        provider_of("http://127.0.0.1:9/v1", tmp_path, parameters=parameters)
    assert HIDDEN not in str(refused.value)


def test_a_schema_may_have_fields_called_like_secrets(tmp_path: Path) -> None:
    schema = {"properties": {"key": {"type": "string"}, "token": {"enum": ["a"]}}}
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    parameters = {"response_format": form, "max_tokens": 5, "logit_bias": {"5": 1}}
    assert list(secret_places(parameters)) == []
    provider_of("http://127.0.0.1:9/v1", tmp_path, parameters=parameters)


def test_the_command_line_writes_no_nested_key(tmp_path: Path) -> None:
    parameters = json.dumps({"metadata": {"api_key": HIDDEN}})
    model = ["--model", "m", "--base-url", "http://127.0.0.1:9/v1", "--parameters", parameters]
    done = run_medeval("run", "--task", "clinical_qa_basic", *model, "--out", tmp_path / "run")
    assert done.returncode == 2
    assert "metadata.api_key" in done.stderr
    assert HIDDEN not in done.stdout + done.stderr
    assert not list(tmp_path.iterdir())
