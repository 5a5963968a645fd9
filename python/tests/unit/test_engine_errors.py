"""What may be said of what Spark says; of other engines see sql/test_private_texts.py."""

from __future__ import annotations

import pytest

from medeval.warehouse import shown


class AnalysisException(Exception):  # noqa: N818
    """As Spark has it: about a statement."""

    def getSqlState(self) -> str:  # noqa: N802
        return "42703"


class SparkRuntimeException(Exception):  # noqa: N818
    """As Spark has it: about a row."""

    def getSqlState(self) -> str:  # noqa: N802
        return "22018"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            AnalysisException(
                "[UNRESOLVED_COLUMN] A column `x` cannot be resolved; line 1\n== SQL"
            ),
            "[UNRESOLVED_COLUMN] A column `x` cannot be resolved; line 1",
        ),
        (
            SparkRuntimeException(
                "[CAST_INVALID_INPUT] The value 'Mr Smith' is no INT. SQLSTATE: 22018"
            ),
            "spark runtime error. What the engine says of it may quote the data,"
            " so it is not shown.",
        ),
        (
            SparkRuntimeException(
                "[USER_RAISED_EXCEPTION] medeval: cannot read a.b as a time SQLSTATE: P0001"
            ),
            "cannot read a.b as a time",
        ),
    ],
)
def test_what_spark_says_of_data_is_not_shown(error: Exception, told: str) -> None:
    assert shown(error) == told
