"""What a chat model is asked for each type of task, and how its reply becomes an output.

The version is part of every request's key. What is asked comes from the task's type, description
and schemas and from the input alone; expected outputs are never looked at.

The built-in model `demo` answers by simple rules, for a first run without a key. They see what is
asked alone and hold no answer: they repeat what it says. They show that the way from a task to its
scores works, and set a floor that any real model should leave behind.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any

from medeval.files import toml_beside
from medeval.inference.types import response_format
from medeval.json_reader import fold_key, last_object, whole_value
from medeval.metrics.concepts import common_lexicon
from medeval.metrics.matching import common_synonyms, normalised
from medeval.metrics.metric import text_of
from medeval.models import schemas
from medeval.models.medical_task import MedicalTask, TaskType
from medeval.models.schemas import LETTERS, MULTIPLE_CHOICE, Row, options_of, required_keys
from medeval.text import split_thinking

TASK_PROMPT_VERSION = "task-1"
# In a template {key} is a value of the input, and {{key}} is itself.
PLACE = re.compile(r"\{\{(\w+)\}\}|\{(\w+)\}")

_FENCE = re.compile(r"```[ \t]*+[\w+-]{0,20}+[ \t]*+\r?\n(.*?)```", re.DOTALL)
# A reply with this in it was meant to be data; broken or cut off, it is no text to be scored.
_LIKE_DATA = re.compile(r"\A[\[{]|\A```|[{\uff5b]\s*[\"'\u201c\u201d\uff02]")
# The id says nothing about the patient; `output` is the other side of a nested row.
_NEVER_SHOWN = ("id", "output")
# Of what an output schema says about a key; an example or a default could be a gold answer.
_COPIED = ("type", "enum", "items", "description")
# Of the demo's rules.
_LEADING_SENTENCES = 2
_RANKED = 3
# A full stop after a digit and before one is a decimal point; one after "Dr" ends nothing.
_SENTENCE_END = re.compile(r"(?<=[.!?])(?<!\bDr\.)(?<!\bMr\.)(?<!\bMrs\.)\s+|(?<=[。！？])|\n+")
_ABBREVIATION = re.compile(r"\b[A-Z][A-Z0-9]+\b")
_LONG_WORD = re.compile(r"[^\W\d_]{5,}")
_UNKNOWN = "unknown"


_TOLD = toml_beside(__file__, "data/task_prompts.toml")
# Asked of every diagnosis, for the metrics of rankings, reasons and confidence.
_WITH_A_DIAGNOSIS = ("differential_diagnosis", "explanation", "confidence")


# What is to stand under a key of the reply: a JSON schema, whose description is told in words.
_FIELDS: Mapping[str, Row] = {
    key: {"type": "string", **told.get("schema", {}), "description": told["wish"]}
    for key, told in _TOLD["fields"].items()
}


def messages_for(task: MedicalTask) -> Callable[[Mapping[str, Any]], list[dict[str, str]]]:
    """Return what makes a row the conversation in which a model is asked for its output.

    It takes an input, or a row of a data set, nested or flat, of which only the input is shown.
    Keys that give the answer away are left out unless the input schema names them. Of a row with
    nothing to show it raises a ValueError.

    Args:
        task: says what is asked; its examples stand before the question, with their answers.
    """
    shown_of, form, system = shown_input(task), _form(task), task.system_prompt
    if system is None:
        parts = [_TOLD["instructions"][task.task_type], task.description.strip(), _TOLD["language"]]
        system = "\n".join(part for part in parts if part)
    before = [("system", system)] if system.strip() else []
    for example, answer in zip(*task.examples(), strict=True):
        before.append(("user", _question(task, shown_of(example), form)))
        before.append(("assistant", _example_reply(task, answer)))

    def messages(row: Mapping[str, Any]) -> list[dict[str, str]]:
        if not (shown := shown_of(row)):
            raise ValueError(f"{task.task_id}: an input with nothing in it cannot be asked about")
        said = [*before, ("user", _question(task, shown, form))]
        return [{"role": role, "content": content} for role, content in said]

    return messages


def _form(task: MedicalTask) -> str:
    """Return the words in which a task asks for the form of the reply."""
    if task.task_type == MULTIPLE_CHOICE:
        form: str = _TOLD["choices"]["several" if getattr(task, "several", False) else "one"]
        return form
    fields = fields_of(task)
    count = "this key" if len(fields) == 1 else "these keys"
    lines = [f"Reply with one JSON object that has {count}, and nothing else:"]
    return "\n".join(
        [*lines, *(f"- {json.dumps(key)}: {one['description']}" for key, one in fields.items())]
    )


def _question(task: MedicalTask, shown: Row, form: str) -> str:
    """Return an input as the task puts it: by its own template, or each key under its title."""
    texts = {key: _text(value) for key, value in shown.items()}
    if task.task_type == MULTIPLE_CHOICE and "options" in shown:
        lettered = zip(LETTERS, options_of(shown["options"])[0], strict=False)
        texts["options"] = "\n".join(f"{letter}. {option}" for letter, option in lettered)
    if task.prompt:
        values = {**texts, "form": form}
        return PLACE.sub(
            lambda place: f"{{{place[1]}}}" if place[1] else values.get(place[2], ""), task.prompt
        )
    return "\n\n".join([*(f"{_title(key)}:\n{text}" for key, text in texts.items()), form])


def _example_reply(task: MedicalTask, answer: Row) -> str:
    """Return the answer of an example in the form in which the task asks for answers."""
    text = _text(answer.get(task.target))
    if not _has_form(task):
        return text
    if task.task_type == MULTIPLE_CHOICE:
        return f"Answer: {text}"
    asked = {key: answer[key] for key in fields_of(task) if key in answer}
    return json.dumps(asked, ensure_ascii=False)


def _has_form(task: MedicalTask) -> bool:
    """Tell whether the question says how to reply; a template of one's own may leave that out."""
    return not task.prompt or any(name == "form" for _, name in PLACE.findall(task.prompt))


def _schema(field: Row) -> Row:
    return deepcopy({name: value for name, value in field.items() if name != "description"})


def parameters_for(task: MedicalTask) -> dict[str, Any]:
    """Return the parameters of a request for a reply: the JSON schema that it is held to.

    There is none where the question asks for no JSON: the letter of an option, or a template
    without a form.
    """
    if task.task_type == MULTIPLE_CHOICE or not _has_form(task):
        return {}
    members = {key: _schema(one) for key, one in fields_of(task).items()}
    return {"response_format": response_format("output", members)}


def output_from_reply(
    task: MedicalTask, text: str, row: Mapping[str, Any] | None = None
) -> Row | None:
    """Read a reply as an output of the task.

    A JSON object is taken from the reply as a whole, from a fenced block or from within the text,
    the last one that has the required keys. Where the task asks for one text and nothing else,
    a reply without JSON is that text; where it asks for one of several, it may be that one alone.
    The reply to a question with options is read as those of all such questions are, into the
    letters that it chooses: "C", or "A, C".

    Args:
        task: says which keys the output has.
        text: the reply, with its thinking or without it.
        row: the input that it answers, whose options are chosen from.

    Returns:
        The output, with keys that were asked for or that metrics know; None if there is none to be
        read, or a required key is missing or empty in it.
    """
    main, answer = task.target, split_thinking(text).answer
    if task.task_type == MULTIPLE_CHOICE:
        return _letters(text, options_of((row or {}).get("options"))[0], main)
    fields = fields_of(task)
    needed = [fold_key(key) for key in required_keys(task.output_schema) or [main]]

    def are_given(members: Mapping[str, Any]) -> bool:
        # No, 0 and false are answers.
        values = [members.get(key) for key in needed]
        return not any(value in (None, [], {}) or not str(value).strip() for value in values)

    if (found := last_object(answer, needed, are_given)) is not None:
        spelled = {fold_key(key): key for key in reversed([*fields, *_FIELDS])}
        return {spelled[key]: each for key, each in found.members.items() if key in spelled}
    plain = _plain_text(answer, main)
    is_one_text = len(fields) == 1 and _schema(fields[main]) == {"type": "string"}
    if plain and (is_one_text or not _has_form(task)):
        return {main: plain}
    choices = fields[main].get("enum")
    if len(fields) > 1 or not choices:
        return None
    if choices == list(LETTERS[: len(choices)]):
        return _letters(text, choices, main)
    told = normalised(plain.strip("*_"))
    said = [one for one in choices if normalised(str(one)) == told]
    return {main: said[0]} if len(said) == 1 else None


def _letters(text: str, options: Sequence[str], key: str) -> Row | None:
    """Return the options that a reply chooses, by their letters; None if it chooses none."""
    from medeval.tasks.choice_replies import read_choices

    found = read_choices(text, options)
    return {key: ", ".join([*found.letters, *found.unknown])} if found.is_read else None


def shown_input(task: MedicalTask) -> Callable[[Mapping[str, Any]], Row]:
    """Return what makes a row that which a model may see of it; see `messages_for`."""
    hidden = set(_NEVER_SHOWN) - schemas.named_keys(task.schemas()[0])
    gives_it_away = task.answer_keys()

    def shown(row: Mapping[str, Any]) -> Row:
        nested = row.get("input")
        values = nested if isinstance(nested, Mapping) else row
        kept = {key: value for key, value in values.items() if key not in hidden}
        return {
            key: value
            for key, value in kept.items()
            if not gives_it_away(key) and value is not None and _text(value).strip()
        }

    return shown


def fields_of(task: MedicalTask) -> dict[str, Row]:
    """Return the keys of the reply in the order in which they are asked for; see `_FIELDS`."""
    schema = task.schemas()[1]
    properties = schema.get("properties")
    own = properties if isinstance(properties, Mapping) else {}
    asked = [task.target, *required_keys(schema), *own]
    if task.target == "diagnosis":
        asked += _WITH_A_DIAGNOSIS
    return {key: _field(key, own.get(key)) for key in dict.fromkeys(asked)}


def _field(key: str, specification: object) -> Row:
    """Return what a key asks for; the task's own word on it goes before the usual one."""
    usual = _FIELDS.get(key) or {"type": "string", "description": f"the {_title(key).lower()}"}
    if not isinstance(specification, Mapping):
        return usual
    field = {name: specification[name] for name in _COPIED if name in specification}
    wish = str(field.get("description", usual["description"]))
    if isinstance(choices := field.get("enum"), list) and choices:
        wish += ", one of " + ", ".join(json.dumps(each, ensure_ascii=False) for each in choices)
    if "type" not in field and "enum" not in field:
        field = {**usual, **field}
    return {**field, "description": wish}


def _title(key: str) -> str:
    return key.replace("_", " ").strip().capitalize()


def _text(value: object) -> str:
    """Return a value as it is shown: text as it is, a list as lines, all else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)) and all(isinstance(each, str) for each in value):
        return "\n".join(f"- {each}" for each in value)
    return json.dumps(value, ensure_ascii=False, default=str) if value not in ([], {}) else ""


def _plain_text(answer: str, key: str) -> str:
    """Return a text without fence, quotes and the key's own name before it; "" for broken data."""
    fenced = _FENCE.fullmatch(answer)
    text = fenced[1].strip() if fenced else answer
    if text.startswith('"') and (quoted := whole_value(text)) is not None:
        text = str(quoted.value).strip()
    if _LIKE_DATA.search(text):
        return ""
    name = re.escape(key).replace("_", r"[\s_-]")
    # "Answer: ...", "**Answer:** ...", "### Answer" with the text on the next line.
    heading = re.compile(
        rf"[#*\s]{{0,9}}(?:final\s)?{name}(?:\s?\*{{0,2}}[:：]\*{{0,2}}|\*{{0,2}}\s?\n)\s*",
        re.IGNORECASE,
    ).match(text)
    return text[heading.end() :].strip() if heading else text


def demo_answer(task: MedicalTask, row: Mapping[str, Any]) -> Row:
    """Return the output that the rules give for one row.

    Of given choices the first is taken. A document is summarized by its first sentences, the usual
    baseline. A case is diagnosed with the first finding that it affirms. A message gets general
    advice about what it names. A question is answered by what its abbreviation stands for, else
    by its last long word.

    Args:
        task: its type says which rule, its output schema under which key.
        row: an input, or a row of a data set, of which only the input is read.
    """
    key = task.target
    choices = fields_of(task)[key].get("enum")
    if isinstance(choices, list) and choices:
        return {key: choices[0]}
    text = "\n".join(text_of(value) for value in shown_input(task)(row).values())
    sentences = [part.strip() for part in _SENTENCE_END.split(text) if part.strip()]
    if task.task_type is TaskType.SUMMARIZATION:
        return {key: " ".join(sentences[:_LEADING_SENTENCES])}
    if task.task_type is TaskType.QA:
        synonyms = common_synonyms()
        for short in _ABBREVIATION.findall(text):
            if (full := synonyms.expanded(short)) != short.lower():
                return {key: full}
        return {key: next(reversed(_LONG_WORD.findall(text)), _UNKNOWN)}
    lexicon = common_lexicon()
    affirmed = [
        concept.replace("_", " ")
        for sentence in sentences
        for concept, polarity in sorted(lexicon.findings(sentence))
        if polarity == "affirmed" and concept not in lexicon.drugs | lexicon.things
    ]
    named = list(dict.fromkeys(affirmed))  # in the order of their sentences
    if task.task_type is TaskType.COMMUNICATION:
        about = f" about {' and '.join(named[:_RANKED])}" if named else ""
        return {
            key: f"Thank you for your message{about}. Please talk to your doctor before you change"
            " anything, and seek help at once if you feel much worse."
        }
    first = named[0] if named else _UNKNOWN
    reasons = ", ".join(named) or "no finding that is known"
    return {
        key: first,
        "differential_diagnosis": named[:_RANKED],
        "explanation": f"{first} is likely because the case has: {reasons}.",
        "confidence": round(1 / (1 + len(named)), 2) if named else 0.0,
    }
