"""Values keep their bits, and nothing is guessed about those that have no number or text."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from typing import Any

import httpx
import numpy as np
import pandas as pd
import pytest

from scoreline import Client, ValueRefused
from scoreline.values import column, encode, plain, records, require_columns

FIVE: Any = 5


class Housing(str, Enum):
    OWN = "own"


class Months(IntEnum):
    YEAR = 12


class Colour(Enum):
    RED = 1


@pytest.mark.parametrize(
    "value",
    [
        *(None, float("nan"), np.nan, np.float32("nan"), pd.NA, pd.NaT),
        *(Decimal("NaN"), Decimal("sNaN"), np.datetime64("NaT")),
    ],
)
def test_every_missing_value_is_null(value: Any) -> None:
    assert plain(value) is None


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        (np.int64(3), "3"),
        (np.uint8(3), "3"),
        (np.float64(0.1), "0.1"),
        (np.float32(0.1), "0.10000000149011612"),
        (1e-05, "1e-05"),
        (5e-324, "5e-324"),
        (-0.0, "-0.0"),
        (2**53, "9007199254740992"),
        (Decimal("0.25"), "0.25"),
        (Decimal("0.1"), "0.1"),
        (Fraction(1, 4), "0.25"),
        (Housing.OWN, '"own"'),
        (Months.YEAR, "12"),
        (np.str_("own"), '"own"'),
        ("Übertrag, A", '"Übertrag, A"'),
    ],
)
def test_a_number_reads_back_to_the_same_bits(value: Any, sent: str) -> None:
    assert encode(plain(value)).decode() == sent


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (True, "boolean"),
        (np.bool_(False), "boolean"),
        (float("inf"), "finite"),
        (np.float64("-inf"), "finite"),
        (2**53 + 1, "text"),
        (Decimal("1e400"), "finite"),
        (Fraction(10**400), "finite"),
        (np.bool_(True), "boolean"),
        (datetime.date(2026, 1, 1), r"a date or time \(datetime\.date\)"),
        (pd.Timestamp("2026-01-01"), "Timestamp"),
        (np.datetime64("2026-01-01"), r"numpy\.datetime64"),
        (pd.Timedelta("1h"), "Timedelta"),
        (pd.Period("2026-01"), "Period"),
        (pd.Interval(0, 1), "Interval"),
        (Colour.RED, r"Enum .*Colour.*\.value"),
        (1 + 2j, "complex"),
        (b"own", "bytes"),
        (["own"], "list"),
        (np.array([1.0]), "ndarray"),
    ],
)
def test_a_value_that_is_neither_number_nor_text_is_refused(value: Any, said: str) -> None:
    with pytest.raises(ValueRefused, match=said):
        plain(value)


def test_a_refusal_names_the_column_and_the_row() -> None:
    frame = pd.DataFrame({"age": [1.0, np.inf]}, index=["A-1", "A-2"])
    with pytest.raises(ValueRefused, match=r"'age' of row 'A-2'"):
        column(frame, "age", 0, 2)
    dates = frame.assign(age=pd.to_datetime(["2026-01-01", "2026-02-01"]))
    with pytest.raises(ValueRefused, match=r"'age' of row 'A-1' is a date .*Timestamp"):
        column(dates, "age", 0, 2)


def test_each_type_of_column_gives_its_values() -> None:
    frame = pd.DataFrame(
        {
            "int": [1, 2],
            "nullable": pd.array([1, None], dtype="Int64"),
            "float": [0.5, np.nan],
            "category": pd.Categorical(["own", None]),
            "code": pd.Categorical([3, 4]),
            "object": np.array(["own", None], dtype=object),
            "text": pd.array(["own", None], dtype="string"),
        }
    )
    first, second = records(frame, list(frame.columns), (0, 2))
    assert list(first.values()) == [1, 1, 0.5, "own", 3, "own", "own"]
    assert list(second.values()) == [2, None, None, None, 4, None, None]
    assert json.loads(encode([first, second])) == [first, second]


def test_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(ValueRefused, match="surrogate"):
        encode({"name": "\ud800"})


def test_columns_that_are_not_there_or_there_twice_are_named() -> None:
    frame = pd.DataFrame([[1, 2]], columns=["age", "age"])
    with pytest.raises(ValueRefused, match="'income', 'housing'"):
        require_columns(frame, ["age", "income", "housing"], "the card")
    with pytest.raises(ValueRefused, match="two columns age"):
        require_columns(frame, ["age"], "the card")


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.score(5, "dep_1", features=["age"]),
        lambda client: client.score([{"age": 1}, 5], "dep_1", features=["age"]),
        lambda client: client.score(b"age", "dep_1", features=["age"]),
        lambda client: client.outcomes(5),
        lambda client: client.outcomes("dep_1"),
        lambda client: client.read(5),
        lambda client: client.change(None),
        lambda client: client.approve(5),
        lambda client: (client.close(), client.models()),
        lambda _: Client("http://service:port", "sa_1"),
        lambda _: Client(FIVE, "sa_1"),
        lambda _: Client("http://service", FIVE),
        lambda client: client.get(5),
        lambda client: client.get("v1/models"),
        lambda client: client.get("/v1/models", 5),
        lambda client: client.get("/v1/models", {"name": "\ud800"}),
        lambda client: client.read("\ud800"),
        lambda client: client.score([{"age": 1}], "dep_1", features=["age"], batch_rows="x"),
        lambda client: client.score([{"age": 1}], "dep_1", features=["age"], batch_rows=2.5),
        lambda client: client.score([{"age": 1}], "dep_1", features=["age"], reasons="x"),
        lambda client: client.score([{"age": 1}], "dep_1", features="age"),
        lambda client: client.score([{"age": 1}], "dep_1", features=5),
        lambda client: next(client.score_chunks(None, "dep_1")),
        lambda client: next(client.score_chunks(pd.DataFrame({"age": [1]}), "dep_1")),
        lambda client: client.set_cutoff("dep_1", float("nan")),
        lambda client: client.set_cutoff("dep_1", b"525"),
        lambda client: client.create_key("Notebook", scopes="score"),
        lambda client: client.backtest({}, "dep_1", cutoffs=None),
        lambda client: client.backtest({}, "dep_1", cutoffs=525),
        lambda client: client.export("mod_1", "sql", key="number"),
        lambda client: client.export("mod_1", "pmml", out=5),
        lambda client: client.batch_file(None, "dep_1", "scores.csv"),
        lambda client: client.batch_file("applicants.csv", "dep_1", 5),
        lambda client: client.batch_results("bat_1", ""),
    ],
)
def test_a_slip_in_a_notebook_is_an_error_of_this_package(
    call: Callable[[Client], object],
) -> None:
    http = httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(500)))
    with (
        Client("http://service", "sa_1", key="sk_1", http=http) as client,
        pytest.raises(ValueRefused),
    ):
        call(client)


def test_a_field_that_can_not_be_sent_is_named() -> None:
    with pytest.raises(ValueRefused, match=r"'cutoff' can't be sent: .* type bytes"):
        encode({"reason": "as decided", "cutoff": b"525"})


def test_numbers_of_numpy_are_numbers_of_a_request() -> None:
    body = {"share": np.int64(30), "cutoff": np.float64(525.5), "half": np.float32(0.5)}
    assert json.loads(encode({**body, "is_on": np.bool_(True)})) == {
        **{"share": 30, "cutoff": 525.5, "half": 0.5, "is_on": True}
    }
