"""A challenger with features of its own, from shadow to champion, through the client.

Scores are compared with those that the service gives each card alone, in a deployment of its own.
"""

from __future__ import annotations

import uuid
from typing import Any

import httpx
import numpy as np
import pandas as pd
import pytest

from scoreline import Client, Deployed, ScorelineError, ServiceError
from service import Service

ROWS = 1000


def applicants() -> pd.DataFrame:
    """Applicants with what both cards read, some values missing, and two columns of no card."""
    random = np.random.default_rng(20261124)
    frame = pd.DataFrame(
        {
            "income": random.lognormal(7.5, 0.6, ROWS).round(2),
            "age": random.integers(18, 90, ROWS).astype(float),
            "rent": random.gamma(3.0, 180.0, ROWS).round(2),
            "region": random.choice(["north", "south", "Süd-West", "3"], ROWS).astype(object),
            "branch": "main",
            "note": None,
        }
    )
    for name in ("age", "rent"):
        frame.loc[random.random(ROWS) < 0.1, name] = np.nan
    return frame


def card(version: str, *features: dict[str, Any]) -> dict[str, Any]:
    """A card of these features."""
    return {
        "name": "Journey",
        "version": version,
        "target": "default_12m",
        "base_points": 400 + len(features) / 3,
        "features": list(features),
        "scaling": {"base_score": 600, "base_odds": 50, "pdo": 20},
    }


def numeric(name: str, *bins: tuple[str, float]) -> dict[str, Any]:
    """A numeric feature."""
    made = [{"range": text, "points": points} for text, points in bins]
    return {"name": name, "type": "numeric", "bins": made}


INCOME = numeric("income", ("(-Infinity, 1500]", -7.3), ("(1500, Infinity)", 11.9))
AGE = numeric("age", ("(-Infinity, 30]", -3), ("(30, Infinity)", 8.1), ("Missing", 1))
RENT = numeric("rent", ("(-Infinity, 500]", 6.6), ("(500, Infinity)", -9.4), ("Missing", -2.5))
REGION = {
    "name": "region",
    "type": "categorical",
    "bins": [
        {"value": "north%,%3", "points": 4.4},
        {"value": "south", "points": -1.7},
        {"value": "Missing", "points": -5},
    ],
}
CHAMPION = card("1.0", INCOME, AGE)
CHALLENGER = card("2.0", INCOME, RENT, REGION)


@pytest.fixture(params=[False, True], ids=["lenient", "strict"])
def is_strict(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def frame(is_strict: bool) -> pd.DataFrame:
    """In strict mode nobody may have a missing value."""
    made = applicants()
    return made.dropna(subset=["age", "rent"]) if is_strict else made


def own(spec: dict[str, Any]) -> dict[str, Any]:
    """The card under a name that no other test has."""
    return {**spec, "name": f"Journey {uuid.uuid4().hex}"}


def alone(client: Client, spec: dict[str, Any], frame: pd.DataFrame) -> list[float]:
    """The scores of a card that is alone in its deployment."""
    deployed = client.deploy(own(spec), environment="production")
    names = [feature["name"] for feature in spec["features"]]
    return list(client.score(frame, deployed, features=names)["score"])


class Journey:
    """A deployment of the champion, with the challenger beside it."""

    def __init__(self, service: Service, client: Client, *, is_strict: bool) -> None:
        self.service = service
        self.deployed: Deployed = client.deploy(own(CHAMPION), environment="production")
        self.at = f"/v1/deployments/{self.deployed.slug}"
        self.challenger = client.deploy(
            own(CHALLENGER), environment="production", auto_deploy=False
        )
        if is_strict:
            self.change("PATCH", "", strict_mode=True)

    def change(self, method: str, path: str, **body: Any) -> dict[str, Any]:
        answer = httpx.request(
            method,
            self.service.url + self.at + path,
            json=body,
            headers={"authorization": f"Bearer {self.service.owner}"},
            timeout=120,
        )
        assert answer.is_success, answer.text
        return dict(answer.json())

    def add(self) -> str:
        answer = self.change(
            "PATCH",
            "/traffic",
            action="add_challenger",
            model_id=self.challenger.model_id,
            traffic_pct=50,
            accept_features=True,
        )
        assert answer["features"] == {"added": ["rent", "region"], "removed": []}
        return str(answer["challenger"]["id"])

    def shadow(self, *, is_on: bool) -> None:
        self.change(
            "PATCH", "/traffic", action="toggle_shadow", shadow_mode=is_on, accept_features=True
        )


def test_every_served_and_shadow_score_is_right_from_shadow_to_champion(
    service: Service, client: Client, frame: pd.DataFrame, is_strict: bool
) -> None:
    first, second = alone(client, CHAMPION, frame), alone(client, CHALLENGER, frame)
    journey = Journey(service, client, is_strict=is_strict)
    deployed = journey.deployed
    assert client.score(frame, deployed)["score"].tolist() == first
    journey.shadow(is_on=True)
    entry = journey.add()
    for one in (deployed, deployed.slug):
        scored = client.score(frame, one, batch_rows=300)
        assert scored["score"].tolist() == first
        assert scored[f"shadow_{entry}_score"].tolist() == second
        assert not scored["warnings"].astype(str).str.contains("unknown_variable").any()
    journey.shadow(is_on=False)
    for draw in range(8):
        scored = client.score(frame.head(50), deployed, routing_key=f"draw {draw}")
        of = {"1.0": first, "2.0": second}[scored["model_version"].iloc[0]]
        assert scored["score"].tolist() == of[:50]
    journey.change("POST", "/promote", challenger_id=entry, accept_features=True)
    for one in (deployed, deployed.slug):
        scored = client.score(frame, one)
        assert scored["score"].tolist() == second
        assert not scored["warnings"].astype(str).str.contains("unknown_variable").any()
    rows = client.score(frame.head(20).to_dict("records"), deployed)
    assert [row["score"] for row in rows] == second[:20]
    assert client.score(frame.iloc[0].to_dict(), deployed)["score"] == second[0]
    journey.change("POST", "/rollback", reason="back", accept_features=True)
    assert client.score(frame, deployed)["score"].tolist() == first


def test_a_frame_without_the_new_features_is_refused_after_the_promotion(
    service: Service, client: Client, frame: pd.DataFrame, is_strict: bool
) -> None:
    journey = Journey(service, client, is_strict=is_strict)
    entry = journey.add()
    journey.change("POST", "/promote", challenger_id=entry, accept_features=True)
    with pytest.raises(ScorelineError, match="rent"):
        client.score(frame[["income", "age"]], journey.deployed)


@pytest.mark.parametrize("form", ["frame", "rows", "one"])
@pytest.mark.parametrize("is_shadow", [False, True])
def test_a_change_during_a_call_is_an_error_and_no_silent_score(
    service: Service, client: Client, monkeypatch: pytest.MonkeyPatch, form: str, is_shadow: bool
) -> None:
    frame = applicants().head(40)
    journey = Journey(service, client, is_strict=False)
    deployed = journey.deployed
    wants = Client._wants

    def and_then_change(self: Client, slug: str, **how: Any) -> Any:
        wanted = wants(self, slug, **how)
        journey.shadow(is_on=is_shadow)
        entry = journey.add()
        if not is_shadow:
            journey.change("POST", "/promote", challenger_id=entry)
        return wanted

    monkeypatch.setattr(Client, "_wants", and_then_change)
    data: Any = frame if form == "frame" else frame.to_dict("records")
    if form == "one":
        data = data[0]
    with pytest.raises(ServiceError, match="region, rent") as caught:
        client.score(data, deployed)
    assert caught.value.code == "features_changed"
    monkeypatch.undo()
    assert client.score(data, deployed) is not None
