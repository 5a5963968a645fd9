"""Which declared addresses can be local, and what comes back over the wire in odd layouts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from inference_runs import ask, lines, open_item
from model_server import Fault, Script, model_server

from medeval.errors import UserError
from medeval.inference.endpoints import read_endpoints


def declared(folder: Path, address: str) -> list[str]:
    path = folder / "endpoints.toml"
    path.write_text(f'[[endpoint]]\nbase_url = "{address}"\nruns_locally = true\n', "utf-8")
    return list(read_endpoints(path))


@pytest.mark.parametrize(
    "host",
    [
        # 8.8.8.8 as systems read it too.
        *("134744072", "010.8.8.8", "8.8.2056", "0x8.8.8.8", "[::ffff:8.8.8.8]"),
        *("[2002:808:808::1]", "[64:ff9b::808:808]"),
        pytest.param("0x08080808", id="one hexadecimal number"),
    ],
)
def test_a_number_of_others_cannot_be_declared_as_local(tmp_path: Path, host: str) -> None:
    with pytest.raises(UserError, match="private network"):
        declared(tmp_path, f"https://{host}/v1")


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "2130706433", "10.1.2.3", "[::1]", "[::ffff:10.1.2.3]"),
        *("localhost", "gpu-7", "models.hospital.example", "notaliyuncs.com", "1a2b"),
        pytest.param("0x0a010203", id="one hexadecimal number"),
    ],
)
def test_a_host_of_the_house_can_be(tmp_path: Path, host: str) -> None:
    address = f"https://{host}/v1"
    assert declared(tmp_path, address) == [address]


def choice(content: Any, **more: Any) -> dict[str, Any]:
    return {"message": {"content": content}, "finish_reason": "stop", **more}


@pytest.mark.parametrize(
    ("choices", "text"),
    [
        ([choice("B", index=1), choice("A", index=0)], "A"),
        ([choice("A", index=0), choice("B", index=1)], "A"),
        ([choice("A", index=0), choice("B", index=0)], "A"),
        ([choice("A"), choice("B")], "A"),
        ([choice("A", index=2), choice("B", index=1)], "A"),
        ([None, choice("A", index=0)], "A"),
    ],
)
def test_of_several_choices_the_first_is_the_one_of_index_0(
    tmp_path: Path, choices: list[Any], text: str
) -> None:
    fault = Fault(200, {"choices": choices})
    with model_server(Script(lambda body, before: fault)) as server:
        ask(server.url, tmp_path, [open_item("one")])
    (line,) = lines(tmp_path)
    assert (line["outcome"], line["text"]) == ("answered", text)


def test_content_that_is_an_object_is_a_broken_reply_and_no_empty_one(tmp_path: Path) -> None:
    def fault(body: Any, before: int) -> Fault | None:
        return Fault(200, {"choices": [choice({"answer": ["A"]})]}) if before < 2 else None

    with model_server(Script(fault, reply=lambda body: "A")) as server:
        ask(server.url, tmp_path, [open_item("one")])
    (line,) = lines(tmp_path)
    assert (line["outcome"], line["text"], line["measured"]["attempts"]) == ("answered", "A", 3)


def test_content_that_stays_an_object_is_an_error(tmp_path: Path) -> None:
    fault = Fault(200, {"choices": [choice({"answer": ["A"]})]})
    with model_server(Script(lambda body, before: fault)) as server:
        ask(server.url, tmp_path, [open_item("one")])
    (line,) = lines(tmp_path)
    assert (line["outcome"], line["error"]["kind"]) == ("errored", "broken_reply")
    assert "JSON object, not text" in line["error"]["detail"]
