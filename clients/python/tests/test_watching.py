"""Exports, reasons, the alarm, the overview and the report of a month, through the client."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recorded import RecordedScorecard
from sample import applicants, fixture, imported_applicants, specification
from scoreline import Client, Deployed, Reason, ScorelineError, ValueRefused
from service import Service
from waiting import soon


@pytest.fixture
def admin(service: Service, credentials: dict[str, str]) -> Iterator[Client]:
    with Client(service.url, service.member(), key=credentials["key"]) as made:
        yield made


def test_a_card_is_exported_as_text_and_as_a_file(
    client: Client, deployed: Deployed, tmp_path: Path
) -> None:
    out = tmp_path / "card.sql"
    text = client.export(deployed, "sql", dialect="duckdb", key=["number"], out=out)
    assert out.read_text() == text
    assert "applicants" in text
    assert client.export(deployed.model_id, "pmml").startswith("<?xml")
    named = client.deployment(deployed)
    assert client.export(named, "spec") == client.export(deployed, "spec")


def reasons() -> dict[str, Reason]:
    return {
        "credit_amount": Reason("R01", "Amount of the loan", source="application"),
        "duration_in_month": Reason("R02", {"en": "Term", "es": "Plazo"}, actionable=True),
    }


def test_reasons_are_made_from_the_card_and_its_sample(admin: Client) -> None:
    name = f"Reasons {uuid.uuid4().hex}"
    frame = imported_applicants()
    scores = fixture("optbinning-scores.csv")["score"]
    said: dict[str, Any] = {"name": name, "scores": scores, "accept_unreached": True}
    deployed = admin.deploy(RecordedScorecard(), frame, reasons=reasons(), **said)
    assert deployed.report is not None
    assert deployed.report.agrees
    spec = admin.model(deployed).spec
    points = [one for one in spec["features"] if one["name"] == "credit_amount"]
    scored = admin.score(frame, deployed, points=True, reasons=2, lang="es")
    mean = scored["credit_amount_points"].mean()
    assert points[0]["reason_baseline"] == pytest.approx(mean, rel=1e-12)
    below = scored[(scored["duration_in_month_points"] < scored["duration_in_month_points"].mean())]
    assert set(scored["reason_1"].dropna()) == {"R01", "R02"}
    assert "Plazo" in set(below["reason_1_text"]) | set(below["reason_2_text"].dropna())
    again = admin.deploy(RecordedScorecard(), frame, reasons=reasons(), **said)
    assert (again.is_known, again.model_id) == (True, deployed.model_id)
    with pytest.raises(ValueRefused, match="two texts"):
        admin.deploy(
            RecordedScorecard(),
            frame,
            reasons={**reasons(), "housing": Reason("R01", "Another")},
            **said,
        )
    with pytest.raises(ValueRefused, match="nobody in the frame"):
        admin.deploy(RecordedScorecard(), frame, reasons=reasons(), reasons_cutoff=1e6, **said)
    with pytest.raises(ValueRefused, match="a specification holds its own"):
        admin.deploy(specification(name=name), reasons=reasons())


def explained() -> dict[str, Any]:
    return specification(
        name=f"Watched {uuid.uuid4().hex}", reasons={"version": 1, "method": "mean_all"}
    )


def test_a_baseline_of_reasons_is_computed_and_in_force_in_one_call(admin: Client) -> None:
    spec = explained()
    deployed = admin.deploy(spec)
    admin.score(applicants(), deployed)
    soon(lambda: admin.stats(deployed).summary["total_requests"][0], lambda n: n == 1000)
    change = admin.set_reason_baseline(spec["name"], method="mean_all")
    assert change.state == "applied"
    assert "reason_1" in admin.score(applicants().head(5), deployed, reasons=1)


def test_the_overview_the_alarm_and_the_month_are_frames(admin: Client, tmp_path: Path) -> None:
    spec = explained()
    name = spec["name"]
    deployed = admin.deploy(spec, environment="production")
    month = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m")
    admin.score(applicants(), deployed)
    soon(lambda: admin.stats(deployed).summary["total_requests"][0], lambda n: n == 1000)
    admin.set_cutoff(name, 500)
    assert admin.deployment(name).cutoff == 500
    assert admin.cutoffs(deployed).cutoffs["cutoff"].tolist() == [500]
    assert admin.set_alarm(name, watch=0.05, act=0.2, days=7).state == "applied"
    assert admin.alarm(name).summary["act"].tolist() == [0.2]
    overview = admin.overview("production")
    row = overview[overview["name"] == name].iloc[0]
    assert (row["slug"], row["cutoff"]) == (deployed.slug, 500)
    report = admin.monthly_report(name, month)
    assert report.summary["n"].tolist() == [1000]
    assert set(report.features["name"]) == set(deployed.features)
    assert "deployment.update" in set(report.changes["action"])
    assert str(report.changes["at"].dtype).startswith("datetime64")
    out = tmp_path / "report.html"
    report.save(out)
    assert f"<h1>{name}, {month}</h1>" in out.read_text()
    asked = {"as_known_at": report.answer["as_known_at"]}
    day = datetime.date.fromisoformat(f"{month}-03")
    assert admin.monthly_report(name, day, **asked).answer == report.answer
    with pytest.raises(ScorelineError, match="2026-10"):
        admin.monthly_report(name, "October")
