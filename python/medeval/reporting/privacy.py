"""Which text may stand in a report: that of open tasks, and other text only when asked for."""

from __future__ import annotations

from medeval.models.benchmark_report import BenchmarkReport
from medeval.models.evaluation_result import EvaluationResult


def may_show_text(result: EvaluationResult) -> bool:
    """Tell whether inputs and outputs are open; a result that does not say so is not."""
    return result.metadata.get("data_class") == "open"


def without_text(
    report: BenchmarkReport, *, show_text: bool = False, keep_outputs: bool = False
) -> BenchmarkReport:
    """Return the report as it may be written: scores and counts stay, text of patients goes.

    Args:
        report: stays as it is.
        show_text: leave all text in.
        keep_outputs: leave out inputs alone, for the record of a run.
    """
    if show_text:
        return report
    gone: dict[str, list[object]]
    gone = {"inputs": []} if keep_outputs else {"inputs": [], "model_outputs": []}
    kept = [
        result if may_show_text(result) else result.model_copy(update=dict(gone))
        for result in report.detailed_results
    ]
    return report.model_copy(update={"detailed_results": kept})
