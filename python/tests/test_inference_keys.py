"""Keys: in whatever form an endpoint quotes one, it is written nowhere; and which can be sent."""

from __future__ import annotations

import base64
import json
import urllib.parse
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inference_runs import ask, lines, open_item
from model_server import Fault, Script, model_server

from medeval.errors import UserError
from medeval.inference.guard import key_from_environment
from medeval.inference.secrets import without_key

KEY = "sk-pl/anted+KEY0123=="


def hexed(text: str) -> str:
    return "".join(f"\\u{ord(each):04X}" for each in text)


# As a body of JSON writes it between quotes.
FORMS: dict[str, Callable[[str], str]] = {
    "plain": lambda key: key,
    "slash": lambda key: key.replace("/", "\\/"),
    "hex": hexed,
    "some hex": lambda key: key[:5] + hexed(key[5:9]) + key[9:],
    "JSON in JSON": lambda key: json.dumps(json.dumps({"k": key}).replace("/", "\\/"))[1:-1],
    "percent": lambda key: urllib.parse.quote(key, safe=""),
    "lower percent": lambda key: urllib.parse.quote(key, safe="").replace("%2F", "%2f"),
    "percent twice": lambda key: urllib.parse.quote(urllib.parse.quote(key, safe=""), safe=""),
    "base64": lambda key: base64.b64encode(key.encode()).decode(),
    "base64 of a header": lambda key: base64.b64encode(f"Bearer {key}!".encode()).decode(),
    "base64 of a user": lambda key: base64.urlsafe_b64encode(f"u:{key}".encode()).decode(),
}


def can_be_read(text: str) -> bool:
    """Tell whether the key, or the middle of it, can be got back from a text by any usual way."""
    middle = KEY[3:-3]
    unquoted = urllib.parse.unquote(urllib.parse.unquote(text.replace("\\", "")))
    found = [text, unquoted]
    for word in unquoted.replace("-", "+").replace("_", "/").replace('"', " ").split():
        for cut in range(4):
            usable = word[cut:].rstrip("=")
            try:
                found.append(base64.b64decode(usable[: len(usable) // 4 * 4]).decode("latin-1"))
            except ValueError:
                continue
    return any(middle in each for each in found)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("place", ["message", "code", "reply", "no JSON", "a name"])
def test_no_form_of_a_key_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, place: str
) -> None:
    monkeypatch.setenv("MODELS_KEY", KEY)
    echo = FORMS[form](KEY)
    assert can_be_read(json.loads(f'"{echo}"'))
    reply = (
        '{"model": "m %s", "system_fingerprint": "f %s", "choices": [{"message":'
        ' {"content": "it is %s so", "reasoning": "r %s"}, "finish_reason": "stop: %s"}]}'
    )
    body = {
        "message": f'{{"error": {{"message": "not {echo} so", "code": "x"}}}}',
        "code": f'{{"error": {{"message": "m", "code": "{echo}", "param": "{echo}"}}}}',
        "reply": reply.replace("%s", echo),
        "no JSON": f"<p>not {echo} so</p>",
        "a name": f'{{"error": {{"{echo}": 1}}}}',
    }[place]
    fault = Fault(200 if place == "reply" else 400, body)
    with model_server(Script(lambda body, before: fault)) as server:
        ask(server.url, tmp_path, [open_item("one")], key_variable="MODELS_KEY")
    (line,) = lines(tmp_path)
    assert line["outcome"] == ("answered" if place == "reply" else "errored")
    for path in tmp_path.iterdir():
        text = path.read_text(encoding="utf-8")
        for part in text.splitlines() if path.suffix == ".jsonl" else [text]:
            # Read as JSON and written without escapes: what a reader of the file gets to see.
            assert not can_be_read(json.dumps(json.loads(part), ensure_ascii=False)), path.name
    if place == "reply":
        assert "[key]" in line["text"]


def test_what_holds_no_key_is_left_as_it_is() -> None:
    body = '{"a": "50% of \\u00e4 \\\\ [1,2] \\ud83d", "b": NaN, "a": 1e999}'
    assert without_key(body, KEY) == body
    assert without_key("<html>50% \\ off", KEY) == "<html>50% \\ off"
    assert without_key('{"a": "none of it"}', "none") == '{"a": "none of it"}'


def test_what_is_cleaned_says_the_same_otherwise() -> None:
    body = json.dumps({"a": f"x {KEY} y", "b": ["\ud83d", 1.5, None, True], "c": {"d": "50%"}})
    assert json.loads(without_key(body, KEY)) == {
        "a": "x [key] y",
        "b": ["\ud83d", 1.5, None, True],
        "c": {"d": "50%"},
    }


@given(
    st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=40),
    st.text(max_size=8),
    st.sampled_from(sorted(FORMS)),
)
def test_a_body_of_json_stays_json(key: str, around: str, form: str) -> None:
    echo = FORMS[form](json.dumps(key)[1:-1] if form in ("plain", "slash", "some hex") else key)
    body = f'{{"m": "{echo}", "n": {json.dumps(around + key + around)}}}'
    try:
        json.loads(body)
    except ValueError:
        return  # an escape that was cut in two
    read = json.loads(without_key(body, key))
    assert key not in read["n"].replace("[key]", "")


def test_a_body_of_escapes_takes_no_time() -> None:
    for body in ("\\" * 200_000, "%25" * 70_000, '{"a": "' + "\\\\" * 100_000 + '"}'):
        assert without_key(body, KEY) == body
        assert without_key(body + KEY, KEY).endswith("[key]")


@pytest.mark.parametrize("mark", ["\ufeff", ""])
def test_a_mark_of_byte_order_before_json_is_no_part_of_it(tmp_path: Path, mark: str) -> None:
    body = mark + '{"choices": [{"message": {"content": "A"}, "finish_reason": "stop"}]}'
    with model_server(Script(lambda _, before: Fault(200, body))) as server:
        ask(server.url, tmp_path, [open_item("one")])
    assert lines(tmp_path)[0]["text"] == "A"


def test_a_mark_of_byte_order_hides_no_error(tmp_path: Path) -> None:
    body = '\ufeff{"error": {"message": "too much", "code": "insufficient_quota"}}'
    with model_server(Script(lambda _, before: Fault(429, body))) as server:
        ended = ask(server.url, tmp_path, [open_item("one")])
        assert server.seen.requests == 1
    assert "quota" in ended.stopped


@pytest.mark.parametrize(
    "key", ["sk-schlüssel-0123", "sk-one\nsk-two-0123", "sk-\x00-0123456", "钥匙"]
)
def test_a_key_that_no_request_can_carry_is_told_before_anything_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    # An environment holds no NUL, a mapping does.
    with pytest.raises(UserError, match="MODELS_KEY has characters that no request") as refused:
        key_from_environment("MODELS_KEY", {"MODELS_KEY": key})
    assert key not in str(refused.value)
    if "\x00" in key:
        return
    monkeypatch.setenv("MODELS_KEY", key)
    with model_server() as server:
        with pytest.raises(UserError, match="MODELS_KEY"):
            ask(server.url, tmp_path, [open_item("one")], key_variable="MODELS_KEY")
        assert server.seen.connections == 0


def test_space_around_a_key_is_no_part_of_it() -> None:
    assert key_from_environment("MODELS_KEY", {"MODELS_KEY": " sk-0123\n"}) == "sk-0123"
