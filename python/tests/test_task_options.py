"""Options of a task as one JSON object: what cannot be meant is told, nothing is lost silently."""

from __future__ import annotations

from typing import Any

import pytest

from medeval.commands.judging import JudgeFlags, taken_from_arguments
from medeval.errors import UserError
from medeval.tasks.cdm import CdmOptions
from medeval.tasks.medical import MedicalOptions
from medeval.tasks.mtsamples import MtsamplesOptions
from medeval.tasks.options import parse_arguments, read_options


def test_what_is_null_is_as_if_it_were_not_there() -> None:
    given = parse_arguments('{"use_think": null, "judge_base_url": null, "samples": 2}')
    assert given == {"samples": 2}
    options = read_options(MtsamplesOptions, given, "mtsamples")
    assert options.model_fields_set == {"samples"}
    assert parse_arguments(None) == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"samples": 2, "samples": 3}', "samples comes twice"),
        ('{"judge_model": "a", "judge_model": null}', "judge_model comes twice"),
        ("[1]", "one JSON object"),
        ("{", "is not JSON"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_an_object_that_cannot_be_meant(text: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        parse_arguments(text)


@pytest.mark.parametrize(
    ("kind", "given", "said"),
    [
        (MtsamplesOptions, {"samples": True}, "samples is not one of true and false"),
        (MtsamplesOptions, {"shuffle_seed": False}, "shuffle_seed is not one of true and false"),
        (MtsamplesOptions, {"use_think": 1}, "use_think is true or false, not 1"),
        (MtsamplesOptions, {"use_think": "no"}, "use_think is true or false, not 'no'"),
        (MedicalOptions, {"json_schema": "yes"}, "json_schema is true or false"),
        (CdmOptions, {"permute": True}, "permute is not one of true and false"),
        (MtsamplesOptions, {"samples": "x"}, "option samples"),
        (MtsamplesOptions, {"sample": 1}, "no option 'sample'"),
    ],
)
def test_true_is_no_number_and_a_number_is_not_true(
    kind: type[Any], given: dict[str, Any], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        read_options(kind, given, "the task")


def test_options_as_a_record_keeps_them_are_read() -> None:
    kept = {"cache_dir": None, "use_think": True, "shuffle_seed": None, "samples": 2}
    assert read_options(MtsamplesOptions, kept, "mtsamples").use_think is True


@pytest.mark.parametrize("name", ["judge_model", "judge_base_url", "judge_api_key"])
@pytest.mark.parametrize("empty", ["", " ", [], ["a", ""]])
def test_a_judge_that_is_named_by_nothing_is_told(name: str, empty: Any) -> None:
    if name == "judge_api_key" and isinstance(empty, list):
        return
    with pytest.raises(UserError, match=f"{name} is empty"):
        taken_from_arguments(JudgeFlags(), {name: empty})


def test_a_flag_wins_over_an_argument() -> None:
    options: dict[str, Any] = {"judge_model": ["a", "b"], "samples": 1}
    assert taken_from_arguments(JudgeFlags(), dict(options)).models == ["a", "b"]
    assert taken_from_arguments(JudgeFlags(models=["c"]), options).models == ["c"]
    assert options == {"samples": 1}
