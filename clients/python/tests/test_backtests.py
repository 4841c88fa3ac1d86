"""A candidate is scored exactly on the logged applicants of whom the modeler has the values."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest

from outcome import OUTCOMES
from sample import applicants, specification
from scoreline import Client, ScorelineError, ValueRefused
from scoreline.measures import auc_of
from service import Service
from waiting import soon


@pytest.fixture(scope="module")
def admin(service: Service) -> Iterator[Client]:
    with Client(service.url, service.member(), key=service.key()) as made:
        yield made


def numbered() -> pd.DataFrame:
    frame = applicants()
    became = pd.read_csv(OUTCOMES, dtype={"id": str}).set_index("id")["bad"]
    return frame.assign(number="B-" + frame.index, bad=became.reindex(frame.index))


def candidate() -> dict[str, Any]:
    """Other bins of the amount than the deployed card has, so that its bins say bounds only."""
    spec = specification(name=f"Candidate {uuid.uuid4().hex}", version="2.0")
    features = [
        {
            **one,
            "bins": [
                {"range": "(-Infinity, 1234.5)", "points": 31.25},
                {"range": "[1234.5, 7777.7)", "points": 3.5},
                {"range": "[7777.7, Infinity)", "points": -41.125},
            ],
        }
        if one["name"] == "credit_amount"
        else one
        for one in spec["features"]
    ]
    return {**spec, "features": features}


@pytest.fixture(scope="module")
def slug(admin: Client) -> str:
    """A deployment that has scored 900 of the applicants, the first one twice."""
    spec = specification(name=f"Backtest {uuid.uuid4().hex}")
    made = str(admin.deploy(spec).slug)
    frame = numbered()
    admin.score(frame.head(1).assign(credit_amount=1), made, reference="number")
    soon(lambda: admin.find("B-0001"), lambda rows: len(rows) == 1)
    admin.score(frame.head(900), made, reference="number")
    soon(lambda: admin.find("B-0900"), lambda rows: len(rows) == 1)
    return made


def test_the_frame_makes_every_score_of_a_backtest_exact(admin: Client, slug: str) -> None:
    spec = candidate()
    frame = numbered().tail(800)
    bounded = admin.backtest(spec, slug, cutoffs=[500])
    assert bounded.summary["exact_share"][0] < 1
    found = admin.backtest(
        spec, slug, frame=frame, reference="number", outcome="bad", cutoffs=[500]
    )
    assert found.proof.to_dict("records") == [
        {"logged": 900, "in_frame": 700, "agree": 700, "differ": 0, "not_in_frame": 200}
    ]
    alone = admin.score(frame, admin.deploy(spec))
    scores = found.scores
    assert scores["candidate_score"].tolist() == alone["score"].loc[scores.index].tolist()
    assert scores["candidate_pd"].tolist() == pytest.approx(alone["pd"].loc[scores.index].tolist())
    both = pd.DataFrame({"old": scores["score"] >= 500, "new": scores["candidate_score"] >= 500})
    swaps = found.swap_sets.iloc[0]
    assert swaps["swap_in"] == (~both["old"] & both["new"]).sum() > 0
    assert swaps[["both_approve", "swap_in", "swap_out", "both_decline"]].sum() == 700
    assert found.bands["deployed"].sum() == found.bands["candidate"].sum() == 700
    measured = found.performance.set_index("card")
    bad = frame["bad"].loc[scores.index].astype(bool)
    good = scores["candidate_score"][~bad].to_numpy()
    below = [
        (good > one).mean() + (good == one).mean() / 2 for one in scores["candidate_score"][bad]
    ]
    assert measured["auc"]["candidate"] == pytest.approx(sum(below) / len(below))
    assert (
        measured["low"]["candidate"] < measured["auc"]["candidate"] < measured["high"]["candidate"]
    )
    assert measured["n"].tolist() == [700, 700]


def test_a_frame_that_is_not_what_was_logged_is_named(admin: Client, slug: str) -> None:
    frame = numbered()
    frame.loc["0007", "credit_amount"] = 15_000
    asked: dict[str, Any] = {"frame": frame, "reference": "number"}
    with pytest.raises(ScorelineError, match="1 of 900 applicants have other values") as raised:
        admin.backtest(candidate(), slug, **asked)
    assert raised.value.code == "frame_differs"
    assert raised.value.details[0]["row"] == "B-0007"
    found = admin.backtest(candidate(), slug, accept_different=True, **asked)
    assert found.proof[["agree", "differ"]].to_numpy().tolist() == [[899, 1]]
    assert found.different["feature"].tolist() == ["credit_amount"]
    assert "0007" not in found.scores.index


def test_what_a_backtest_with_a_frame_needs_is_said(admin: Client, slug: str) -> None:
    frame = numbered()
    with pytest.raises(ValueRefused, match="reference=…"):
        admin.backtest(candidate(), slug, frame=frame)
    with pytest.raises(ValueRefused, match="frame=…"):
        admin.backtest(candidate(), slug, reference="number")
    with pytest.raises(ValueRefused, match="no column 'purpose'"):
        admin.backtest(candidate(), slug, frame=frame.drop(columns="purpose"), reference="number")
    with pytest.raises(ValueRefused, match="no reference of the frame"):
        admin.backtest(candidate(), slug, frame=frame.assign(number="?"), reference="number")


def test_the_area_has_the_interval_of_delong() -> None:
    # The example by hand: 3 of 4 pairs are in order.
    found = auc_of([1, 3, 2, 4], [True, True, False, False])
    assert found is not None
    assert found.auc == 0.75
    # Placements 1 and 0.5 of each class: variances 1/8, and 1/8 / 2 twice.
    half = 1.959963984540054 * (1 / 8) ** 0.5
    assert found.low == pytest.approx(0.75 - half)
    assert found.high == 1
    turned = auc_of([1, 3, 2, 4], [True, True, False, False], is_good_high=False)
    assert turned is not None
    assert turned.auc == 0.25
    assert auc_of([1, 2], [True, True]) is None
