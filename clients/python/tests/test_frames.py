"""A frame is looked at before anything is sent, and a call that ends early goes on."""

from __future__ import annotations

import math
import uuid
from typing import Any

import httpx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sample import applicants, expected
from scoreline import Client, Deployed, ScorelineError, ValueRefused
from service import Service

ROWS = 5_000


def many() -> pd.DataFrame:
    frame = pd.concat([applicants()] * (ROWS // 1000))
    return frame.set_axis(range(ROWS)).assign(credit_amount=lambda one: one.credit_amount * 1.0)


class Counting(httpx.BaseTransport):
    """Counts what is sent, and ends the call at one of the requests."""

    def __init__(self, end_at: int | None = None) -> None:
        self.bodies: list[bytes] = []
        self.end_at = end_at
        self._inner = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/batch"):
            self.bodies.append(request.read())
            if len(self.bodies) == self.end_at:
                raise KeyboardInterrupt
        return self._inner.handle_request(request)

    def close(self) -> None:
        self._inner.close()


def counted(service: Service, key: str, end_at: int | None = None) -> tuple[Client, Counting]:
    transport = Counting(end_at)
    http = httpx.Client(transport=transport, timeout=60)
    return Client(service.url, key=key, http=http), transport


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [("credit_amount", math.inf, "finite"), ("purpose", pd.Timestamp("2026-01-01"), "date")],
)
def test_one_wrong_value_far_down_stops_the_call_before_anybody_is_scored(
    service: Service,
    credentials: dict[str, str],
    deployed: Deployed,
    name: str,
    value: Any,
    said: str,
) -> None:
    frame = many()
    frame[name] = frame[name].astype(object) if name == "purpose" else frame[name]
    frame.loc[4_321, name] = value
    client, sent = counted(service, credentials["key"])
    with pytest.raises(ValueRefused, match=f"'{name}' of row 4321 is .*{said}") as raised:
        client.score(frame, deployed)
    assert raised.value.details[0]["row"] == 4_321
    assert raised.value.details[0]["path"] == name
    rows: list[dict[Any, Any]] = [
        {str(k): v for k, v in row.items()} for row in frame.to_dict("records")
    ]
    with client, pytest.raises(ValueRefused, match="applicant 4321"):
        client.score(rows, deployed)
    assert sent.bodies == []


def test_a_wrong_reference_stops_it_as_well(
    service: Service, credentials: dict[str, str], deployed: Deployed
) -> None:
    frame = many().assign(number=1.0)
    frame.loc[4_321, "number"] = 1.5
    client, sent = counted(service, credentials["key"])
    with client, pytest.raises(ValueRefused, match="4321"):
        client.score(frame, deployed, reference="number")
    assert sent.bodies == []


def test_an_interrupt_keeps_what_was_scored_and_goes_on(
    service: Service, credentials: dict[str, str], deployed: Deployed
) -> None:
    frame = many()
    client, sent = counted(service, credentials["key"], end_at=3)
    with client:
        with pytest.raises(KeyboardInterrupt):
            client.score(frame, deployed)
        unfinished = client.unfinished
        assert unfinished is not None
        assert unfinished.scored["score"].tolist() == expected()["score"].tolist() * 2
        with pytest.raises(ValueRefused, match="no such call"):
            client.resume("another key")
        scored = client.resume(unfinished.key)
        assert scored["score"].tolist() == expected()["score"].tolist() * 5
        assert scored["request_id"].tolist()[:2000] == unfinished.scored["request_id"].tolist()
        assert client.unfinished is None
        # The third had no answer. Two were answered, and are not sent again.
        assert len(sent.bodies) == 3 + 3
        assert sent.bodies[3] == sent.bodies[2]


def test_a_failure_goes_on_with_resume(
    service: Service, credentials: dict[str, str], deployed: Deployed
) -> None:
    client, _ = counted(service, credentials["key"])
    with client:
        with pytest.raises(ScorelineError) as raised:
            client.score(applicants().head(5), deployed, reasons=3)
        assert client.unfinished is not None
        assert client.unfinished.key == raised.value.idempotency_key


def test_columns_that_the_deployment_does_not_want_stay_here(
    service: Service, credentials: dict[str, str], deployed: Deployed
) -> None:
    frame = applicants().head(5).assign(surname="Ramirez", address="12 Elm Road", target=1)
    for one in (deployed, deployed.slug):
        client, sent = counted(service, credentials["key"])
        with client:
            client.score(frame, one)
        assert sent.bodies
        assert not [word for word in (b"Ramirez", b"Elm", b"target") if word in sent.bodies[0]]


@pytest.mark.parametrize("texts", ["str", "object"])
def test_a_column_of_numbers_that_are_texts_stops_the_call(
    service: Service, credentials: dict[str, str], deployed: Deployed, texts: Any
) -> None:
    frame = applicants().head(5)
    written = frame["credit_amount"].map(lambda value: f"{value / 1000:.3f}".replace(".", ","))
    client, sent = counted(service, credentials["key"])
    with client:
        with pytest.raises(ValueRefused, match=r"'credit_amount' holds texts, such as '1,169'"):
            client.score(frame.assign(credit_amount=written.astype(texts)), deployed)
        assert sent.bodies == []
        # One text among numbers is the applicant's, and gets a warning.
        mixed = frame["credit_amount"].astype(object)
        mixed.iloc[2] = "unknown"
        warned = client.score(frame.assign(credit_amount=mixed), deployed)["warnings"]
    assert warned.dropna().tolist() == ["no_bin_match: credit_amount"]


def test_rows_of_one_label_are_told_apart_by_their_positions(
    service: Service, credentials: dict[str, str], deployed: Deployed
) -> None:
    frame = applicants().head(5).set_axis([7, 7, 8, 7, 7])
    frame["age_in_years"] = [30.0, 31.0, 32.0, math.inf, 33.0]
    client, _ = counted(service, credentials["key"])
    with client:
        with pytest.raises(ValueRefused, match=r"'age_in_years' of row 7 \(position 3\) is inf"):
            client.score(frame, deployed)
        with pytest.raises(ScorelineError) as raised:
            client.score(
                applicants().head(5).assign(housing=None).set_axis(range(5)), deployed, strict=True
            )
    assert "row 0, records[0].housing" in str(raised.value)


def test_two_columns_of_one_name_matter_only_where_the_deployment_wants_them(
    service: Service, credentials: dict[str, str], deployed: Deployed
) -> None:
    frame = applicants().head(5).assign(note="", remark="")
    client, _ = counted(service, credentials["key"])
    with client:
        scored = client.score(frame.rename(columns={"remark": "note"}), deployed)
        assert scored["score"].tolist() == expected()["score"].tolist()[:5]
        with pytest.raises(ValueRefused, match="two columns housing"):
            client.score(frame.rename(columns={"remark": "housing"}), deployed)


def flagged(kind: str) -> dict[str, Any]:
    bins = {
        "numeric": [
            {"range": "(-Infinity, 0.5]", "points": 1},
            {"range": "(0.5, Infinity)", "points": 20},
        ],
        "categorical": [{"value": "False", "points": 1}, {"value": "True", "points": 20}],
    }
    return {
        "name": f"Flags {uuid.uuid4().hex}",
        "version": "1",
        "target": "bad",
        "base_points": 0,
        "has_pd": False,
        "features": [{"name": "owner", "type": kind, "bins": bins[kind]}],
    }


@pytest.mark.parametrize("kind", ["numeric", "categorical"])
def test_a_boolean_is_what_the_card_reads(client: Client, kind: str) -> None:
    frame = pd.DataFrame({"owner": [True, False, True]})
    spec = flagged(kind)
    deployed = client.deploy(spec, frame, scores=[20, 1, 20])
    assert client.score(frame, deployed)["score"].tolist() == [20, 1, 20]
    assert client.score(frame, str(deployed.slug))["score"].tolist() == [20, 1, 20]
    assert client.score({"owner": np.bool_(True)}, deployed)["score"] == 20
    with pytest.raises(ValueRefused, match="boolean"):
        client.score(frame, deployed, features=["owner"])


def test_a_row_of_a_frame_and_frames_of_other_libraries_are_scored(
    client: Client, deployed: Deployed
) -> None:
    frame = applicants().head(50)
    wanted = expected()["score"].tolist()[:50]
    assert client.score(frame.iloc[7], deployed)["score"] == wanted[7]
    columns = frame.to_dict("list")
    for other in (pl.DataFrame(columns), pa.table(columns)):
        scored = client.score(other, deployed)
        assert scored["score"].tolist() == wanted
        assert scored.index.tolist() == list(range(50))
    large = pl.DataFrame({**columns, "number": [2**60 + at if at else None for at in range(50)]})
    assert len(client.score(large, deployed, reference="number")) == 50


def test_points_are_answered_and_kept_only_where_they_are_asked_for(
    service: Service, credentials: dict[str, str], deployed: Deployed
) -> None:
    client, sent = counted(service, credentials["key"])
    with client:
        plain = client.score(applicants().head(5), deployed)
        pointed = client.score(applicants().head(5), deployed, points=True)
    assert not [name for name in plain.columns if name.endswith("_points")]
    assert len([name for name in pointed.columns if name.endswith("_points")]) == 13
    assert [b"include_contributions" in body for body in sent.bodies] == [False, True]
