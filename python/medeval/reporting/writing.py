"""Reports written to files, in the format that is asked for."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from medeval.errors import UserError
from medeval.models.benchmark_report import BenchmarkReport
from medeval.models.text_files import write_text
from medeval.reporting.privacy import without_text

FORMATS = ("json", "yaml", "md", "csv", "html")
_OTHER_NAMES = {"yml": "yaml", "markdown": "md", "htm": "html"}


def check_formats(formats: Iterable[str]) -> list[str]:
    """Return the formats under their usual names, each once.

    Raises:
        UserError: one of them is none.
    """
    return list(dict.fromkeys(_format(name) for name in formats))


def rendered(
    report: BenchmarkReport,
    format: str,  # noqa: A002  as in the models' save
    *,
    show_text: bool = False,
    keep_outputs: bool = False,
) -> str:
    """Return a report as text.

    Args:
        report: the report.
        format: json, yaml, md, csv or html. The first two can be read back as a report.
        show_text: with inputs and outputs of tasks that are not open.
        keep_outputs: json and yaml: with outputs, but without inputs, of these tasks.

    Raises:
        UserError: the format is none.
    """
    chosen = _format(format)
    if chosen in ("json", "yaml"):
        written = without_text(report, show_text=show_text, keep_outputs=keep_outputs)
        return written.convert(chosen)
    from medeval.reporting.contents import contents_of

    contents = contents_of(report, show_text=show_text)
    if chosen == "csv":
        from medeval.reporting.csv_form import report_csv

        return report_csv(contents)
    if chosen == "md":
        from medeval.reporting.markdown_form import report_markdown

        return report_markdown(contents)
    from medeval.reporting.html_form import report_html

    return report_html(contents)


def write_report(
    report: BenchmarkReport,
    path: str | Path,
    format: str | None = None,  # noqa: A002  as in the models' save
    *,
    show_text: bool = False,
    keep_outputs: bool = False,
) -> None:
    """Write a report to a file, which is replaced as a whole and readable for its owner only.

    Args:
        report: the report.
        path: the file; missing folders are made.
        format: json, yaml, md, csv or html; without it the suffix decides.
        show_text: with inputs and outputs of tasks that are not open.
        keep_outputs: json and yaml: with outputs, but without inputs, of these tasks.

    Raises:
        UserError: the format or suffix is none of these.
    """
    place = Path(path)
    chosen = _format(format if format is not None else place.suffix.removeprefix("."))
    text = rendered(report, chosen, show_text=show_text, keep_outputs=keep_outputs)
    write_text(place, text if text.endswith("\n") else text + "\n")


def write_reports(
    report: BenchmarkReport,
    folder: Path,
    name: str,
    formats: Iterable[str],
    *,
    show_text: bool = False,
    keep_outputs: bool = False,
) -> list[Path]:
    """Write a report in several formats; return the files.

    Raises:
        UserError: a format is none; then nothing is written.
    """
    paths = {chosen: folder / f"{name}.{chosen}" for chosen in check_formats(formats)}
    for chosen, path in paths.items():
        write_report(report, path, chosen, show_text=show_text, keep_outputs=keep_outputs)
    return list(paths.values())


def _format(name: str) -> str:
    asked = name.strip().lower().removeprefix(".")
    chosen = _OTHER_NAMES.get(asked, asked)
    if chosen not in FORMATS:
        raise UserError(f"Unknown report format {name!r}. Use one of {', '.join(FORMATS)}.")
    return chosen
