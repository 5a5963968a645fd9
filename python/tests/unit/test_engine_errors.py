"""What may be said of what Spark says; of other engines see sql/test_private_texts.py."""

from __future__ import annotations

import pytest
from tables import table

from medeval.warehouse import shown


@pytest.mark.parametrize(("kind", "state", "said", "told"), table("engine_errors")["spark"])
def test_what_spark_says_of_data_is_not_shown(kind: str, state: str, said: str, told: str) -> None:
    error = type(kind, (Exception,), {"getSqlState": lambda self: state})
    assert shown(error(said)) == told
