"""What may be said of what Spark says; of other engines see sql/test_private_texts.py."""

from __future__ import annotations

import pytest

from medeval.spark_server import server_error, session_settings
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


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "[CAST_INVALID_INPUT] org.apache.spark.SparkNumberFormatException: [CAST_INVALID_INPUT]"
            " The value 'Mr Smith' of the type \"STRING\" cannot be cast. SQLSTATE: 22018\n== SQL",
            "spark number format error. What the engine says of it may quote the data,"
            " so it is not shown.",
        ),
        (
            "[USER_RAISED_EXCEPTION] org.apache.spark.SparkRuntimeException:"
            " [USER_RAISED_EXCEPTION] medeval: the file holds no patients SQLSTATE: P0001\n\tat X",
            "the file holds no patients",
        ),
        (
            "[PARSE_SYNTAX_ERROR] org.apache.spark.sql.catalyst.parser.ParseException: \n"
            "[PARSE_SYNTAX_ERROR] Syntax error at or near 'selec'. SQLSTATE: 42601 (line 1, pos 0)",
            "[PARSE_SYNTAX_ERROR] Syntax error at or near 'selec'.",
        ),
        (
            "java.lang.IllegalStateException: the row of Mr Smith",
            "server error. What the engine says of it may quote the data, so it is not shown.",
        ),
    ],
)
def test_what_a_server_of_spark_says_of_data_is_not_shown(said: str, told: str) -> None:
    error = f"org.apache.hive.service.cli.HiveSQLException: Error running query: {said}"
    assert shown(server_error(error)) == told


def test_session_settings_are_those_that_a_server_takes_from_a_session() -> None:
    parameters = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": "warehouse",
        "spark.driver.memory": "4g",
    }
    assert session_settings(parameters) == {"spark.sql.session.timeZone": "UTC"}
