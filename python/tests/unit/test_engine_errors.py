"""What may be said of what Spark says; of other engines see sql/test_private_texts.py."""

from __future__ import annotations

import pytest
from tables import table

from medeval.spark import server_error, session_settings
from medeval.warehouse import shown


@pytest.mark.parametrize(("kind", "state", "said", "told"), table("engine_errors")["spark"])
def test_what_spark_says_of_data_is_not_shown(kind: str, state: str, said: str, told: str) -> None:
    error = type(kind, (Exception,), {"getSqlState": lambda self: state})
    assert shown(error(said)) == told


@pytest.mark.parametrize(("said", "told"), table("engine_errors")["server"])
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
