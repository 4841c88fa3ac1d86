"""The number of an application reaches the service as the text that leads back to the score."""

from __future__ import annotations

from decimal import Decimal
from enum import Enum
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sample import applicants
from scoreline import Client, Deployed, ValueRefused
from scoreline.values import reference_text
from scripted import ScriptedService
from waiting import soon


class Number(str, Enum):
    FIRST = "A-1"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("0012", "0012"),
        (1001, "1001"),
        (1001.0, "1001"),
        (np.float64(1001), "1001"),
        (np.int64(2**62), str(2**62)),
        (2**70, str(2**70)),
        (Decimal("1001.00"), "1001"),
        (Number.FIRST, "A-1"),
        (-7.0, "-7"),
    ],
)
def test_a_reference_is_the_text_of_its_number(value: Any, text: str) -> None:
    assert reference_text(value) == text


@pytest.mark.parametrize("value", [None, float("nan"), np.nan, pd.NA, pd.NaT, ""])
def test_what_is_missing_is_no_reference(value: Any) -> None:
    assert reference_text(value) is None


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (1001.5, "fraction"),
        (Decimal("1001.5"), "fraction"),
        (2.0**53, "last digits"),
        (np.float32(2**24), "last digits"),
        (True, "boolean"),
        (pd.Timestamp("2026-01-01"), "Timestamp"),
        (float("inf"), "finite"),
    ],
)
def test_a_number_that_names_no_application_for_certain_is_refused(value: Any, said: str) -> None:
    with pytest.raises(ValueRefused, match=said):
        reference_text(value)


def sent(frame: Any, **asked: Any) -> list[dict[str, Any]]:
    """The records of a frame as the service gets them."""
    service = ScriptedService()
    service.client().score(frame, "dep_1", **asked)
    return [record for batch in service.batches() for record in batch]


def test_a_missing_reference_is_left_out_of_a_batch() -> None:
    frame = pd.DataFrame({"age": [1, 2, 3, 4], "number": ["A-1", None, np.nan, pd.NA]})
    assert sent(frame, reference="number") == [
        {"age": 1, "id": "A-1"},
        {"age": 2},
        {"age": 3},
        {"age": 4},
    ]
    rows = frame.to_dict("records")
    assert sent(rows, reference="number") == sent(frame, reference="number")
    by_itself = frame.rename(columns={"number": "id"})
    assert sent(by_itself) == sent(frame, reference="number")


# An empty cell makes floats of a column of whole numbers.
def test_whole_numbers_in_a_column_of_floats_are_whole_numbers() -> None:
    frame = pd.DataFrame({"age": [1, 2], "number": [1001, None]})
    assert str(frame["number"].dtype) == "float64"
    assert [row.get("id") for row in sent(frame, reference="number")] == ["1001", None]
    with pytest.raises(ValueRefused, match=r"'number' of row 1 is 1001.5 \(float\)"):
        sent(frame.assign(number=[1001, 1001.5]), reference="number")
    single = pd.DataFrame({"age": [1], "number": np.array([2**24], dtype="float32")})
    with pytest.raises(ValueRefused, match="last digits"):
        sent(single, reference="number")


def test_a_missing_reference_of_a_single_applicant_sends_no_header() -> None:
    service = ScriptedService()
    for number in (None, float("nan"), pd.NA, 1001.0):
        service.client().score({"age": 1, "number": number}, "dep_1", reference="number")
    assert service.headers("x-reference-id") == [None, None, None, "1001"]
    with pytest.raises(ValueRefused, match="has no 'number'"):
        service.client().score({"age": 1}, "dep_1", reference="number")
    for wrong in ("A 1", "A\n1", "\u00c4", "x" * 129):
        with pytest.raises(ValueRefused, match="reference"):
            service.client().score({"age": 1, "id": wrong}, "dep_1")


def test_a_reference_that_is_a_feature_of_the_card_is_sent_as_both() -> None:
    frame = pd.DataFrame({"age": [30], "branch": [7]})
    asked: dict[str, Any] = {"features": ["age", "branch"], "reference": "branch"}
    assert sent(frame, **asked) == [{"age": 30, "branch": 7, "id": "7"}]
    assert sent(frame.to_dict("records"), **asked) == [{"age": 30, "branch": 7, "id": "7"}]
    service = ScriptedService()
    service.client().score({"age": 30, "branch": 7}, "dep_1", **asked)
    assert service.requests[0].content == b'{"age":30,"branch":7}'
    assert service.headers("x-reference-id") == ["7"]


def test_the_references_of_outcomes_are_those_of_the_scores() -> None:
    service = ScriptedService()
    frame = pd.DataFrame({"reference": [1001, np.nan], "outcome": ["good", "bad"]})
    service.client().outcomes(frame, kind="performance")
    service.client().outcomes([{"record_id": 1001.0, "request_id": "req_1", "record_index": 3.0}])
    assert [request.content for request in service.requests] == [
        b'{"outcomes":[{"kind":"performance","reference":"1001","outcome":"good"},'
        b'{"kind":"performance","outcome":"bad"}]}',
        b'{"outcomes":[{"record_id":"1001","request_id":"req_1","record_index":3}]}',
    ]
    with pytest.raises(ValueRefused, match="'reference' of row 0"):
        service.client().outcomes(frame.assign(reference=[1.5, 2]))


def test_a_routing_key_is_that_of_all_batches_of_a_call() -> None:
    service = ScriptedService()
    frame = pd.DataFrame({"age": range(30)})
    client = service.client()
    client.score(frame, "dep_1", routing_key="north 7", batch_rows=10)
    assert service.headers("x-routing-key") == ["north 7"] * 3
    service.requests.clear()
    client.score(frame, "dep_1", batch_rows=10)
    client.score(frame, "dep_1", batch_rows=10)
    first, second = service.headers("x-routing-key")[0], service.headers("x-routing-key")[3]
    assert service.headers("x-routing-key") == [first] * 3 + [second] * 3
    assert first != second
    service.requests.clear()
    list(client.score_chunks([frame, frame], "dep_1"))
    assert len(set(service.headers("x-routing-key"))) == 1
    assert len(set(service.headers("idempotency-key"))) == 2


def test_a_single_applicant_is_routed_by_the_reference() -> None:
    service = ScriptedService()
    client = service.client()
    client.score({"age": 1, "id": "A-1"}, "dep_1")
    client.score({"age": 1, "id": "A-1"}, "dep_1", routing_key="household 7")
    client.score({"age": 1}, "dep_1")
    assert service.headers("x-routing-key") == ["A-1", "household 7", None]
    with pytest.raises(ValueRefused, match="routing_key"):
        client.score({"age": 1}, "dep_1", routing_key="a\nb")


def test_a_float_column_of_numbers_leads_back_to_its_scores(
    client: Client, deployed: Deployed
) -> None:
    frame = applicants().head(2).assign(number=[880011, np.nan])
    scored = client.score(frame, deployed, reference="number")
    found = soon(lambda: client.find("880011"), lambda rows: len(rows) > 0)
    assert found["request_id"].tolist() == [scored["request_id"].iloc[0]]
    assert found["record_index"].tolist() == [0]
    assert len(client.find(880011.0)) == 1
    for wrong in ("None", "nan", "<NA>"):
        assert client.find(wrong).empty
