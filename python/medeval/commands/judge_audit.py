"""The command `judge-audit`, and the tables of its report."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, cast

import typer
from rich.table import Table

import medeval
from medeval.commands import judge as judging
from medeval.commands.options import same_command
from medeval.commands.progress import graceful_exit, shown_progress
from medeval.errors import UserError
from medeval.files import toml_beside
from medeval.inference.guard import DataUseGuard, read_endpoints
from medeval.inference.run import AUDIT
from medeval.judging.jury import AUDIT_REPORT, DEFAULT_JUDGE, Jury
from medeval.judging.rubric import Rubric, named_rubric
from medeval.tasks import registry
from medeval.tasks.judged import judging_of, rubric_of
from medeval.tasks.run_record import RUNS, RunRecord, read_record
from medeval.terminal import Terminal, require_writable, table_of, warn
from medeval.text import sha256_of

# What is slow to load is imported where it is used: other commands start without it.
if TYPE_CHECKING:
    from medeval.judging.running import Judging


def judge_audit(**given: Any) -> None:
    """Find out how far judges may be believed.

    Do they agree with people, with each other and with themselves? Does the order of the prompt,
    the length of an answer or an attack move them? Do they tell a right answer from a wrong one?
    Without --judge-model those who judged the run last are audited. Nothing is asked twice, and the
    run's own judging stays as it is. Exit code 1: a judge failed on more than one answer in twenty,
    or stopped.
    """
    from medeval.judging import audit
    from medeval.judging.agreement import read_human_ratings
    from medeval.judging.prompt import AttackFile
    from medeval.judging.running import verdicts_in
    from medeval.models.text_files import write_text

    run, human, out = given["run"], given["human"], given["out"]
    if out is not None:
        require_writable(out)
    if run is None and human is not None:
        raise UserError("--human needs the run whose answers were rated: name its folder.")
    record, again = None if run is None else read_record(run), same_command()
    audited = _audited(record, given)
    folder, jury = run or audited.folder, audited.jury
    if record is not None:
        judging.refuse_unnamed(record, judging.unnamed(given, jury), again)
    ratings = None if human is None else read_human_ratings(human, audited.rubric)
    parts = [name.strip() for each in given["parts"] or () for name in each.split(",")]
    config = judging.how_asked(given)
    currency = config.prices.currency

    def kept() -> str:
        count = verdicts_in(audited.folder, audit.FOLDER)
        return f"{count:,} verdicts are kept; go on with `{again}`"

    with graceful_exit(kept), shown_progress(currency) as show:
        report = audit.audit(
            audited,
            config,
            DataUseGuard(read_endpoints(given["endpoints"]), folder / AUDIT),
            show,
            parts=[*filter(None, parts)] or (audit.PARTS if run else (audit.ATTACKS,)),
            attacks=given["attacks"] and AttackFile.read(given["attacks"]),
            human=ratings,
        )
    for table in audit_tables(report):
        Terminal(whole_words=True).print(table)  # names of attacks, above all
    warn(*report["warnings"])
    described = {
        "versions": {"medeval": medeval.__version__},
        "run": record and record.folder.name,
        "task": record and record.task,
        "answering_model": audited.answering_model or None,
        "prompt_version": audited.prompt.version,
        **audited.prompt.record(),
        **jury.model_dump(include={"repeats", "re_asks", "seed"}),
        **report,
    }
    place = out or folder / AUDIT_REPORT
    write_text(place, json.dumps(described, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    cost = "cost unknown" if report["cost"] is None else f"{report['cost']} {currency}"
    print(f"{report['calls']:,} calls in all, {cost}")
    print(f"saving the report in {place}")
    if report["exit_code"]:
        raise typer.Exit(1)


def _audited(record: RunRecord | None, given: Mapping[str, Any]) -> Judging:
    """Return the answers of a run, without one the weak answers that come along, and who judges.

    Those who judged the run before are asked nothing twice. Others get a folder that the run's
    record does not know of: the run's score stays that of its own judging.

    Raises:
        UserError: the run's task is not judged, or there is no judge.
    """
    if record is None:
        from medeval.judging.prompt import WEAK_ANSWERS, WeakAnswers
        from medeval.judging.running import Judging

        weak = WeakAnswers.read(WEAK_ANSWERS)
        jury = cast("Jury", judging.named_jury(given, default=DEFAULT_JUDGE))
        rubric = named_rubric(given["rubric"] or weak.rubric)
        return Judging(weak.subjects, jury, rubric, RUNS / _folder_of(jury, rubric))
    task = registry.resume(record)
    jury = judging.chosen(given, task, record)
    if jury.folder not in {one.folder for one in record.judgings}:
        jury = jury.changed(folder=_folder_of(jury, rubric_of(task, jury)))
    return judging_of(task, record, judging.with_key(given, jury))


def _folder_of(jury: Jury, rubric: Rubric) -> str:
    """Return the name of a folder that the same judges and rubric have again next time."""
    judges = [
        {"model": one.model, "base_url": one.base_url, "key_variable": None} for one in jury.judges
    ]
    texts = [json.dumps(one, separators=(",", ":"), ensure_ascii=False) for one in judges]
    key = "\n".join([*texts, str(jury.seed), rubric.sha256])
    return f"judge-audit-{sha256_of(key)[:12]}"


def audit_tables(report: Mapping[str, Any]) -> Iterator[Table | str]:
    """Yield the tables of a report, and a sentence for each part that could not be done.

    Args:
        report: of `audit`.
    """
    words = toml_beside(__file__, "judge_audit.toml")
    titles = words["agreement"]
    yield from (f"{part}: {reason}" for part, reason in report["not_done"].items())
    compared = {"people": report.get("human", {}).get("agreement", [])}
    compared["each other"] = report.get("agreement", [])
    head = ["", "with", "answers", *titles.values()]
    for whom, agreed in compared.items():
        for criterion, own in groupby(agreed, itemgetter("criterion")):
            rows = [
                [one["who"], one["with"], f"{one['answers']:,}", *(shown(one[n]) for n in titles)]
                for one in own
            ]
            yield _table(f"agreement with {whom}: {criterion}", head, rows)
    if report["effects"]:
        rows = []
        for one in report["effects"]:
            effect = words["effects"].get(one["effect"], one["effect"].replace("_", " "))
            effect = f"repeats of {effect}" if one["part"] == "repeats" else effect
            names = [effect, one["criterion"], words["figures"][one["figure"]]]
            value, _, ends = shown(one).partition("\n")
            rows.append([*names, f"{one['n']:,}", value, ends])
        head = ["effect", "criterion", "figure", "answers", "value", "95 % interval"]
        yield _table("effects on the scores", head, rows)
    head = ["attack", "answers", "raised", "lowered", "largest rise", "verdicts lost", "flagged"]
    for judge, own in report.get("attacks", {}).items():
        rows = [
            [
                f"{name}, harmless" if row["kind"] == "control" else name,
                *(f"{row[count]:,}" for count in ("answers", "raised", "lowered")),
                "-" if row["largest_change"] is None else f"{row['largest_change']:+.2f}",
                *(f"{row[count]:,}" for count in ("verdicts_lost", "flagged")),
            ]
            for name, row in own["attacks"].items()
        ]
        caption = f"raised by {', '.join(own['raised_by']) or 'none of them'}"
        yield _table(f"attacks on {judge}", head, rows, caption)


def shown(estimate: Mapping[str, Any]) -> str:
    """Return a value, below it its 95 % interval; a dash where there is none."""
    if estimate["value"] is None:
        return "-"
    # z: what is rounded to 0 has no sign.
    value = f"{estimate['value']:z.2f}"
    if estimate["low"] is None:
        return value
    return f"{value}\n{estimate['low']:z.2f}, {estimate['high']:z.2f}"


def _table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], caption: str | None = None
) -> Table:
    """Return a table; the columns after the last one that names something are numbers.

    A name that stands in the row above too is not said again.
    """
    names = columns.index("answers")
    told = [
        [
            "" if place < names and above[: place + 1] == row[: place + 1] else cell
            for place, cell in enumerate(row)
        ]
        for above, row in zip([[], *rows], rows, strict=False)
    ]
    table = table_of(title, columns, told, names=names)
    table.title_justify, table.caption = "left", caption
    for column in table.columns:
        column.no_wrap = False
    return table
