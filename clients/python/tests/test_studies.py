"""What a modeler asks about cards that score: cut-offs, candidates, samples, cohorts."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest

from sample import applicants, specification
from scoreline import CardError, Client, Deployed, ServiceError, ValueRefused
from service import Service
from waiting import soon

APPLICANTS = 200
CUTOFF = 400
Studied = tuple[Client, Deployed, pd.DataFrame]


@pytest.fixture(scope="module")
def studied(service: Service, credentials: dict[str, str]) -> Iterator[Studied]:
    """A card without a sample, and applicants that it scored, with a challenger in shadow mode."""
    with (
        Client(service.url, credentials["token"], key=credentials["key"]) as client,
        Client(service.url, service.account("admin")) as admin,
    ):
        deployed = client.deploy(specification(name="Studied"))
        other = client.deploy(other_points(), auto_deploy=False)
        path = f"/v1/deployments/{deployed.slug}/traffic"
        for change in (
            {"action": "toggle_shadow", "shadow_mode": True},
            {"action": "add_challenger", "model_id": other.model_id, "traffic_pct": 10},
        ):
            change_traffic(admin, path, change)
        frame = applicants().head(APPLICANTS)
        scores = client.score(frame.assign(id="T-" + frame.index), deployed)
        soon(lambda: client.find("T-0200"), lambda rows: len(rows) == 1)
        yield client, deployed, scores


def change_traffic(admin: Client, path: str, change: dict[str, Any]) -> None:
    from scoreline.transport import Call
    from scoreline.values import encode

    admin._json(Call("PATCH", path, admin._manager(), content=encode(change)), dict)


def other_points() -> dict[str, Any]:
    """The same bins; who has the first bin of the first feature gets 50 points more."""
    spec = specification(name="Studied", version="2.0.0")
    spec["features"][0]["bins"][0]["points"] += 50
    return spec


def test_cut_offs_approve_who_scores_at_least_as_much(studied: Studied) -> None:
    client, deployed, scores = studied
    found = client.cutoffs(deployed, [CUTOFF, 450])
    assert found.cutoffs["cutoff"].tolist() == [CUTOFF, 450]
    assert found.cutoffs["approved"].tolist() == [
        int((scores["score"] >= CUTOFF).sum()),
        int((scores["score"] >= 450).sum()),
    ]
    assert client.cutoffs(deployed, CUTOFF).summary["n"].tolist() == [APPLICANTS]


def test_a_swap_set_has_a_row_for_each_cell(studied: Studied) -> None:
    client, deployed, scores = studied
    state = client.get(f"/v1/deployments/{deployed.slug}")
    challenger = state["challengers"][0]["id"]
    swapped = client.swap_set(deployed, challenger, CUTOFF, rule="same_cutoff")
    cells = swapped.cells.set_index("cell")["n"]
    assert cells.sum() == APPLICANTS
    approved = int((scores["score"] >= CUTOFF).sum())
    assert cells["both_approve"] + cells["swap_out"] == approved
    assert cells["swap_out"] == 0
    assert client.migration(deployed, challenger).summary["n"].tolist() == [APPLICANTS]


def test_a_candidate_is_tried_on_the_applicants_of_a_deployment(studied: Studied) -> None:
    client, deployed, scores = studied
    same = client.backtest(specification(), deployed, cutoffs=[CUTOFF])
    assert same.summary["n"].tolist() == [APPLICANTS]
    assert same.summary["exact_share"].tolist() == [1]
    assert same.summary["scores_mean"].iloc[0] == pytest.approx(scores["score"].mean())
    by_id = client.backtest(deployed, deployed)
    assert by_id.summary["scores_mean"].tolist() == same.summary["scores_mean"].tolist()
    with pytest.raises(CardError, match="invalid_spec"):
        client.backtest({"name": "Nothing"}, deployed)
    with pytest.raises(ServiceError, match="model_not_found"):
        client.backtest("mod_of_nobody", deployed)
    with pytest.raises(ValueRefused, match="model"):
        client.backtest(17, deployed)


def test_logged_scores_are_computed_again(studied: Studied) -> None:
    client, deployed, _ = studied
    replayed = client.replay(deployed)
    assert replayed.summary["verdict"].tolist() == ["deterministic"]
    # Two models scored each applicant.
    assert replayed.summary["identical"].tolist() == [2 * APPLICANTS]
    ahead = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=1)
    assert client.replay(deployed, since=ahead).summary["n"].tolist() == [0]
    with pytest.raises(ValueRefused, match="time zone"):
        client.replay(deployed, since=datetime.date(2026, 1, 1))  # type: ignore[arg-type]


def test_a_period_becomes_the_sample_that_stability_compares_with(studied: Studied) -> None:
    client, deployed, _ = studied
    baseline = client.set_baseline(deployed, deployed)
    assert (baseline["origin"], baseline["n"]) == ("period", APPLICANTS)
    stable = client.stability(deployed, model=deployed)
    assert stable.summary["baseline_id"].tolist() == [baseline["id"]]
    assert stable.summary["score_psi"].tolist() == [0]


def test_cohorts_are_followed_month_by_month(studied: Studied) -> None:
    client, deployed, scores = studied
    client.define_outcome(
        "bad3",
        label="Bad within 3 months",
        window_months=3,
        bad_rule_text="60 days past due",
        maturity_months=3,
    )
    known = pd.DataFrame(
        {
            "reference": ["T-" + name for name in scores.index[:20]],
            "outcome": ["bad"] * 5 + ["good"] * 15,
            "event_date": ["2026-03-10"] * 5 + [None] * 15,
        }
    )
    same: dict[str, Any] = {"booked_at": "2026-01-15", "as_of": "2026-05-01", "kind": "performance"}
    client.outcomes(known, deployment=deployed, definition="bad3", **same)
    cohorts = client.vintages(deployed, "bad3")
    assert cohorts["cohort"].unique().tolist() == ["2026-01"]
    assert cohorts.set_index("month")["value"].iloc[[0, 2]].tolist() == [0, 0.25]
    assert cohorts["observed"].iloc[0] == 20
    assert list(cohorts.columns) == ["cohort", "month", "observed", "bad", "value", "low", "high"]
