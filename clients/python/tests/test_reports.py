"""What the service knows about its scores comes back as frames."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest

from sample import applicants, expected, specification
from scoreline import Client, Deployed, Frames, ValueRefused
from scoreline.frames import frames_of
from scoreline.outcomes import date_text
from service import Service
from waiting import soon


@pytest.fixture(scope="module")
def scored(
    service: Service, credentials: dict[str, str]
) -> Iterator[tuple[Client, Deployed, pd.DataFrame]]:
    """A card with a development sample, and 300 applicants that it scored."""
    spec = specification(name="Watched", reasons={"version": 1, "method": "max", "max": 3})
    frame = applicants()
    with Client(service.url, credentials["token"], key=credentials["key"]) as client:
        deployed = client.deploy(spec, frame, scores=expected()["score"], accept_unreached=True)
        sent = frame.head(300).assign(id=lambda rows: "W-" + rows.index)
        yield client, deployed, client.score(sent, deployed, batch_rows=100)


Watched = tuple[Client, Deployed, pd.DataFrame]


def test_a_score_is_read_back_by_bin(scored: Watched) -> None:
    client, deployed, scores = scored
    first = scores.iloc[0]
    read = soon(lambda: client.read(first["request_id"]), lambda rows: len(rows) > 0)
    assert len(read) == 100 * len(deployed.features)
    one = read[read["record_index"] == 0]
    assert one["base_points"].iloc[0] + one["points"].sum() == first["score"]
    assert one["id"].unique().tolist() == ["W-0001"]
    assert set(one["outcome"]) == {"matched"}
    assert isinstance(one["scored_at"].dtype, pd.DatetimeTZDtype)
    assert len(client.read(first["request_id"], record=7)) == len(deployed.features)


def test_an_explanation_has_features_reasons_and_other_bins(scored: Watched) -> None:
    client, deployed, scores = scored
    request_id = scores.iloc[0]["request_id"]
    explained = soon(lambda: client.explain(request_id, record=3), lambda one: len(one) > 0)
    assert explained.features["name"].tolist() == list(deployed.features)
    assert explained.reasons["rank"].tolist() == [1, 2, 3]
    assert explained.summary["score"].tolist() == [scores.iloc[3]["score"]]
    assert set(explained.bins["feature"]) <= set(deployed.features)


def test_statistics_count_every_applicant(scored: Watched) -> None:
    client, deployed, scores = scored
    stats = soon(
        lambda: client.stats(deployed, recent=5),
        lambda one: one.summary["total_requests"].iloc[0] >= 300,
    )
    assert stats.summary["total_requests"].tolist() == [300]
    assert stats.summary["avg_score"].iloc[0] == pytest.approx(scores["score"].mean())
    assert stats.buckets["applicants"].sum() == 300
    assert len(stats.recent_scores) == 5
    assert client.stats_series(deployed)["total_requests"].sum() == 300


def test_stability_compares_with_the_sample_of_the_check(scored: Watched) -> None:
    client, deployed, _ = scored
    stable = soon(lambda: client.stability(deployed), lambda one: one.summary["n"].iloc[0] >= 300)
    assert stable.summary["baseline_origin"].tolist() == ["import"]
    assert stable.summary["score_psi"].iloc[0] < 0.1
    assert stable.features["name"].tolist() == list(deployed.features)
    assert set(stable.cells["feature"]) == set(deployed.features)
    ahead = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=1)
    assert client.stability(deployed, since=ahead).summary["n"].tolist() == [0]
    assert len(client.stability_series(deployed, interval="day").points) == 1
    with pytest.raises(ValueRefused, match="time zone"):
        client.stability(deployed, since=datetime.datetime(2026, 1, 1))


def test_reasons_are_counted(scored: Watched) -> None:
    client, deployed, _ = scored
    counted = soon(lambda: client.reasons(deployed), lambda one: one.summary["n"].iloc[0] >= 300)
    assert counted.reasons["first"].sum() == 300
    assert set(counted.reasons["code"]) <= set(deployed.features)


def test_outcomes_of_a_frame_reach_their_scores(scored: Watched) -> None:
    client, deployed, scores = scored
    client.define_outcome(
        "gb12",
        label="Bad within 12 months",
        window_months=12,
        bad_rule_text="90 days past due",
        maturity_months=12,
    )
    soon(lambda: client.find("W-0300"), lambda rows: len(rows) == 1)
    known = pd.DataFrame(
        {
            "reference": ["W-" + name for name in scores.index],
            "outcome": ["bad" if at % 4 == 0 else "good" for at in range(300)],
            "as_of": pd.Timestamp("2026-10-31"),
            "event_date": [
                pd.Timestamp("2026-05-01") if at % 4 == 0 else None for at in range(300)
            ],
        },
        index=scores.index,
    )
    same: dict[str, Any] = {"deployment": deployed, "kind": "performance", "definition": "gb12"}
    sent = client.outcomes(known, **same)
    assert sent.index.equals(known.index)
    assert sent["status"].unique().tolist() == ["accepted"]
    assert sent["request_id"].tolist() == scores["request_id"].tolist()
    assert client.outcomes(known, **same)["status"].unique().tolist() == ["unchanged"]
    wrong = client.outcomes([{"reference": "W-0001", "outcome": "perhaps"}], **same)
    assert wrong[0]["status"] == "invalid"
    good = client.performance(deployed, "gb12")
    assert good.summary["n"].tolist() == [300]
    assert good.summary["bad"].tolist() == [75]


def test_a_date_is_a_day_and_a_moment_has_a_zone() -> None:
    assert date_text(datetime.date(2026, 2, 1)) == "2026-02-01"
    assert date_text(pd.Timestamp("2026-02-01")) == "2026-02-01"
    assert date_text(pd.Timestamp("2026-02-01 12:00", tz="UTC")) == "2026-02-01T12:00:00+00:00"
    with pytest.raises(ValueRefused, match="time zone"):
        date_text(pd.Timestamp("2026-02-01 12:00"))


def test_lists_inside_an_answer_are_frames_by_their_names() -> None:
    frames = frames_of(
        {
            "n": 2,
            "score": {"psi": 0.1, "bands": [{"min": 1}]},
            "features": [
                {"name": "age", "bin": {"index": 0}, "cells": [{"n": 1}, {"n": 2}]},
                {"name": "income", "bin": None, "cells": [{"n": 3}]},
            ],
            "empty": [],
        }
    )
    assert list(frames) == ["summary", "bands", "features", "cells", "empty"]
    assert frames.summary.to_dict("records") == [{"n": 2, "score_psi": 0.1}]
    assert frames.cells.to_dict("records") == [
        {"feature": "age", "n": 1},
        {"feature": "age", "n": 2},
        {"feature": "income", "n": 3},
    ]
    assert "bin_index" in frames.features
    with pytest.raises(AttributeError, match="summary, bands"):
        _ = frames.nothing
    assert isinstance(frames, Frames)
    assert "summary" in repr(frames)
