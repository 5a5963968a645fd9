"""Scores of a run: of each case and over all, by groups, subsets and orders of information."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from statistics import fmean
from typing import Any

from medeval.errors import UserError
from medeval.files import json_lines
from medeval.inference.journal import MESSAGES, Line, read_journal
from medeval.inference.openai_replies import text_of
from medeval.inference.run import RESPONSES
from medeval.inference.types import Outcome
from medeval.models.clinical_case import PATHOLOGIES, ClinicalCase
from medeval.scoring.table import Ratio, interval, result_fields
from medeval.tasks.cdm import groups, scores, scores_v1
from medeval.tasks.cdm.cases import Subset
from medeval.tasks.cdm.facts import Facts
from medeval.tasks.cdm.full_information import part_or_whole
from medeval.tasks.cdm.scores import COUNTS, DIAGNOSIS, CaseScore, cells, means, value_of
from medeval.tasks.cdm.text_protocol import FinalAnswer
from medeval.tasks.cdm.tools import TOOLS
from medeval.tasks.for_reports import shows_text, task_score
from medeval.tasks.task import Method, Table, TaskScore
from medeval.text import split_thinking

PATHOLOGY = "pathology"
GROUPINGS = (PATHOLOGY, "gender", "age_band")
# What is counted of the way to the answers.
CONDUCT = ("turns", "rounds", "invalid_calls", "custom_parsings")


@dataclass(frozen=True)
class Transcript:
    """What came of one case, or of one sample of it.

    Attributes:
        case: with its ground truth.
        sample: 0, or the number of the order of its information.
        outcome: the end it came to; None if it has not come to one.
        answer: what the model decided; None if it did not.
        calls: records of its tools in the order of the calls, each with its round; None where it
            had no tools.
        way: what else its line says of the way there: `turns`, requests to the model, summaries
            and questions asked again included; and what an episode records, with the `reason` of an
            unusual end in one word.
        error: the kind of failure; empty if there was none.
        score: of the answer; None before it is made.
    """

    case: ClinicalCase
    sample: int
    outcome: Outcome | None
    answer: FinalAnswer | None = None
    calls: Sequence[scores.Call] | None = None
    way: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    score: CaseScore | None = None

    @property
    def failure(self) -> str | None:
        """Why the case has no answer, in one word; None if it has one."""
        if self.answer is not None:
            return None
        return self.way.get("reason") or self.error or str(self.outcome or groups.NOT_ASKED)


def read_transcripts(
    folder: Path, cases: Iterable[ClinicalCase], samples: int = 1, *, has_tools: bool = True
) -> list[Transcript]:
    """Return what came of each case, in the order of the cases and of their samples.

    A sample without a line has a transcript without an outcome: nothing leaves the denominator
    unseen, wherever a run stopped.

    Args:
        folder: of the run.
        cases: all that were to be asked.
        samples: how often each of them was to be asked.
        has_tools: whether the model asked for what it needed; a batch has no such answers.

    Raises:
        UserError: there is no journal, a line of it is of none of the cases, or it is not of a run
            of this benchmark.
    """
    path = folder / RESPONSES
    if not path.is_file():
        raise UserError(f"{path}: there are no answers. Run the model first.")
    by_case: dict[str, dict[int, Line]] = {}
    for line in read_journal(path):
        by_case.setdefault(line["item"], {})[int(line["sample"])] = line
        if has_tools and "episode" not in line:
            raise UserError(f"{path} is not of a run of the CDM benchmark.")
    transcripts: list[Transcript] = []
    for case in cases:
        lines = by_case.pop(str(case.hadm_id), {})
        for sample in sorted({*range(samples), *lines}):
            if (end := lines.get(sample)) is None:
                transcripts.append(Transcript(case, sample, None))
                continue
            outcome, answer = Outcome(end["outcome"]), None
            # An answer that was imported has no way: one turn, without tools.
            way = dict(end.get("episode") or {"turns": 1})
            if given := way.pop("answer", None):
                answer = FinalAnswer(**{**given, "treatment": tuple(given["treatment"])})
            elif not end.get("episode") and outcome is Outcome.ANSWERED:
                answer = part_or_whole(split_thinking(end["text"]).answer)
            error = (end.get("error") or {}).get("kind", "")
            transcripts.append(
                Transcript(case, sample, outcome, answer, way.pop("calls", None), way, error)
            )
    if by_case:
        raise UserError(
            f"{path} holds {len(by_case)} cases that are not among those given, such as"
            f" {min(by_case)}. Read it with the cases of its run."
        )
    return transcripts


def scored(transcripts: Iterable[Transcript], facts: Facts, version: int) -> list[Transcript]:
    """Return transcripts with the scores of their answers."""
    return [
        one
        if one.answer is None
        else replace(one, score=scores.score_case(one.case, one.answer, one.calls, facts, version))
        for one in transcripts
    ]


def score_of(
    transcripts: Sequence[Transcript],
    facts: Facts,
    about: Mapping[str, Any],
    method: Method,
    possible: Sequence[str] = scores.SCORES,
    subsets: Sequence[Subset] = (),
    version: int = 2,
) -> TaskScore:
    """Score what came of the cases.

    The values count a case that failed as 0, so that no failure leaves the denominator; the means
    over the answered cases stand beside them.

    Args:
        transcripts: of every case and sample, with scores.
        facts: the facts.
        about: the run.
        method: of intervals and groups.
        possible: the scores that there are for a case that is answered.
        subsets: cases that are scored by themselves, too.
        version: of the scores: 1 for those of the published program, 2 for the repaired ones.

    Raises:
        UserError: a grouping that there is not.
    """
    for name in method.groupings:
        if name not in GROUPINGS:
            raise UserError(f"--by {name}: cases can be grouped by {', '.join(GROUPINGS)}.")
    if method.cluster is not None:
        raise UserError(f"--cluster {method.cluster}: cases are drawn by themselves.")
    cases = [one for one in transcripts if one.sample == 0]
    failures = Counter(sorted(one.failure for one in cases if one.failure is not None))
    has_counts = any(one.score and one.score["counts"] for one in cases)
    names = [*possible, *(COUNTS if has_counts else ())]
    table = scores.mean_table([one.score for one in cases], names)
    found = table.summary(draws=method.n_iters, seed=method.seed)
    fields = result_fields(table, found)
    # The others are those of the answered cases once more.
    items = fields["item_scores"].items()
    fields["item_scores"] = {name: values for name, values in items if name in names}
    by_pathology: dict[str, dict[str, Any]] = {
        name: means([one.score for one in cases if one.case.pathology == name], names, method)
        for name in PATHOLOGIES
    }
    order, notes = order_sensitivity(transcripts)
    measures = Counter(measure for one in cases for measure in one.way.get("context", ()))
    conduct: dict[str, Any] = {name: sum(one.way.get(name, 0) for one in cases) for name in CONDUCT}
    conduct["asked_again"] = sum(one.way.get("is_reasked", False) for one in cases)
    conduct["context_measures"] = dict(sorted(measures.items()))
    directions = dict.fromkeys(scores.LOWER_IS_BETTER, "lower")
    told: dict[str, Any] = {
        **about,
        "score_version": version,
        "n": len(cases),
        "n_failed": failures.total(),
        "failures": dict(failures),
        "by_pathology": by_pathology,
        "rates_by_pathology": rates(cases, facts, version),
        "conduct": conduct,
        "about_metrics": {
            name: {"direction": directions.get(name, "neither"), "scale": "count"}
            for name in COUNTS
        },
        **({"order_sensitivity": order} if order else {}),
    }
    # The table of pathologies says more than values of groups.
    parts = [
        {"name": name, "n": of[DIAGNOSIS]["n"], "scores": of} for name, of in by_pathology.items()
    ]
    shown = {PATHOLOGY: groups.shown(parts, possible)}
    warnings: list[str] = []
    rows = [
        (name, f"{(one := of[DIAGNOSIS])['n']:,}", f"{one['n_failed']:,}", *cells(one))
        for name, of in by_pathology.items()
    ]
    columns = (PATHOLOGY, "n", "failed", DIAGNOSIS, "95 % interval")
    tables = [Table("by pathology", columns, rows)]
    if failed := [(name.replace("_", " "), f"{count:,}") for name, count in failures.items()]:
        tables.append(Table("failed", ("", "cases"), failed))
    if (subset := about["data"].get("subset")) is not None:
        its = f"{subset['name']}: {subset['cases']:,} cases of the export."
        notes.insert(0, f"The run is of the subset {its}")
    if subsets:
        told["subsets"], by_subset, said = groups.subset_scores(cases, subsets, method, possible)
        warnings += said
        tables.append(by_subset)
    persons = [name for name in GROUPINGS if name != PATHOLOGY and name in method.groupings]
    if persons:
        told["subgroups"] = people = groups.subgroups(cases, persons, possible, method)
        for name, grouping in people["attributes"].items():
            shown[name] = groups.shown(grouping["groups"], possible)
        warnings += groups.gap_sentences(people)
        gaps = groups.gap_table(people)
        tables += [gaps] if gaps.rows else []
    # Words of the model may repeat the notes.
    may_show = shows_text(about, method)
    outputs: list[dict[str, Any]] = [
        {
            "outcome": one.outcome and str(one.outcome),
            "reason": one.way.get("reason") or None,
            **{name: one.way.get(name, 0) for name in ("rounds", "turns", "invalid_calls")},
            **({"conversation": "\n\n".join(_conversation(one.way))} if may_show else {}),
        }
        for one in cases
    ]
    inputs = [{"hadm_id": one.case.hadm_id, "pathology": one.case.pathology} for one in cases]
    return task_score(
        *("cdm", about["model"], DIAGNOSIS, fields, method, inputs, outputs, told),
        gold=[one.case.ground_truth.model_dump(mode="json") for one in cases],
        verdicts=[one.failure if one.score is None else one.score["answers"] for one in cases],
        item_groups=[
            {PATHOLOGY: str(one.case.pathology), **groups.attributes_of(one.case)} for one in cases
        ],
        warnings=warnings,
        groups=shown,
        notes=notes,
        tables=tables,
        details=[*_detail_tables(by_pathology, conduct), *_by_round(cases)],
        # Where nothing failed, means over the answered cases say the same again.
        said_again=[] if failures else [name for name in found if scores.ANSWERED_ONLY in name],
    )


def _conversation(way: Mapping[str, Any]) -> Iterator[str]:
    """Yield the messages that the line of an episode keeps as texts; older lines keep none."""
    for message in way.get(MESSAGES, ()):
        called = [call["function"] for call in message.get("tool_calls") or ()]
        calls = [f"{one['name']}({one['arguments']})" for one in called]
        said = filter(None, [text_of(message.get("content")), *calls])
        yield f"[{message.get('role', '')}] " + "\n".join(said)


def case_lines(transcripts: Iterable[Transcript], version: int) -> str:
    """Return one line of JSON for each case and sample: its score, or why it has none."""
    as_json = scores_v1.as_json if version == 1 else dict[str, Any]
    return json_lines(
        {
            "hadm_id": one.case.hadm_id,
            "sample": one.sample,
            "pathology": one.case.pathology,
            "outcome": one.outcome and str(one.outcome),
            "score_version": version,
            **({"failure": one.failure} if one.score is None else as_json(one.score)),
        }
        for one in transcripts
    )


def rates(cases: Sequence[Transcript], facts: Facts, version: int) -> dict[str, Any]:
    """Return how often each category, imaging and treatment was asked for, by pathology.

    A case that failed asked for nothing, so the shares are of all cases; those of a treatment are
    of the cases that need it.

    Args:
        cases: one transcript of each, with its score.
        facts: the facts.
        version: of the scores.

    Returns:
        For each pathology that has cases, then kind and name: `n`, `asked` and `share`.
    """
    found: dict[str, Any] = {}
    for pathology in PATHOLOGIES:
        of = [one for one in cases if one.case.pathology == pathology]
        had_tools = any(one.score and scores.LABORATORY in one.score["scores"] for one in of)
        asked: dict[tuple[str, str], list[bool]] = defaultdict(list)
        for one in of:
            answers = {} if one.score is None else one.score["answers"]
            # What a case needs is known of one that failed too.
            required = scores.required_treatments(one.case, facts, version)
            needed = [(scores.TREATMENT, name) for name in required if required[name]]
            if had_tools:
                needed += [(scores.LABORATORY, name) for name in facts.labs.required[pathology]]
                points = value_of(one.score, scores.IMAGING, 0.0) or 0.0
                asked[scores.IMAGING, "acceptable"].append(points >= 1)
                asked[scores.IMAGING, "preferred"].append(points >= scores.MOST_IMAGING_POINTS)
            key_of = {scores.LABORATORY: scores.CORRECT_TESTS}
            for kind, name in needed:
                asked[kind, name].append(answers.get(key_of.get(kind, kind), {}).get(name, False))
        for kind in (scores.TREATMENT, scores.LABORATORY, scores.IMAGING):
            for name, each in ((name, each) for (its, name), each in asked.items() if its == kind):
                share = {"n": len(each), "asked": sum(each), "share": sum(each) / len(each)}
                found.setdefault(pathology, {}).setdefault(kind, {})[name] = share
    return found


def order_sensitivity(transcripts: Sequence[Transcript]) -> tuple[dict[str, Any], list[str]]:
    """Return how the order of the information moves the diagnosis, and a sentence that says so.

    With one order there is neither.

    A case that was not asked in every order says nothing of it and is left out, counted.
    """
    by_case: dict[int, dict[int, float]] = {}
    for one in transcripts:
        values = by_case.setdefault(one.case.hadm_id, {})
        if one.outcome is not None:
            values[one.sample] = value_of(one.score, DIAGNOSIS, 0.0) or 0.0
    orders = sorted({one.sample for one in transcripts})
    if len(orders) < 2:
        return {}, []
    whole = [found for found in by_case.values() if len(found) == len(orders)]
    changed = [float(len(set(found.values())) > 1) for found in whole]
    share = interval(Ratio(changed, is_share=True))
    ends = share.model_dump(include={"low", "high", "level", "method"})
    told = {
        "orders": len(orders),
        "cases": len(whole),
        "n_incomplete": len(by_case) - len(whole),
        "diagnosis_by_order": [fmean(of[order] for of in whole) for order in orders if whole]
        or None,
        "n_changed": int(sum(changed)),
        "share_of_cases_that_change": share.value,
        "interval": None if share.low is None else ends,
    }
    said = groups.SAID["no_order" if share.low is None else "orders"]
    said += groups.SAID["left_out"] if told["n_incomplete"] else ""
    return told, [said.format(share=share, **told)]


def _detail_tables(
    by_pathology: Mapping[str, Mapping[str, Any]], conduct: Mapping[str, Any]
) -> list[Table]:
    """Return every score with its interval for each pathology, and what the model did."""
    values = []
    for name in next(iter(by_pathology.values())):
        found = [cells(of[name]) for of in by_pathology.values()]
        values.append((name, *(f"{one} ({ends})" if ends else one for one, ends in found)))
    done = {name: value for name, value in conduct.items() if name != "context_measures"}
    done |= {f"context: {name}": n for name, n in conduct["context_measures"].items()}
    rows = [(name.replace("_", " "), f"{n:,}") for name, n in done.items()]
    return [
        Table("scores by pathology", ("score", *by_pathology), values),
        Table("what was done, over all cases", ("", "number"), rows),
    ]


def _by_round(cases: Iterable[Transcript]) -> Iterator[Table]:
    """Yield what was done in each round: in how many cases which tool was called."""
    rounds: dict[int, list[list[scores.Call]]] = {}
    for one in cases:
        calls = [call for call in one.calls or () if "round" in call]
        for number, own in groupby(calls, key=itemgetter("round")):
            rounds.setdefault(number, []).append(list(own))
    rows = []
    for number, of_cases in sorted(rounds.items()):
        used = [{call["tool"] for call in own} for own in of_cases]
        invalid = sum(not call["is_valid"] for own in of_cases for call in own)
        counts = (len(used), *(sum(tool in own for own in used) for tool in TOOLS), invalid)
        rows.append((str(number), *(f"{count:,}" for count in counts)))
    if rows:
        yield Table("cases by round", ("round", "cases", *TOOLS, "invalid calls"), rows)
