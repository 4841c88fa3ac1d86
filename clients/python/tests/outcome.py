"""The 1,000 applicants of the German credit sample with their outcome, as a model is fitted on."""

from __future__ import annotations

import pandas as pd

from sample import applicants
from service import ROOT

OUTCOMES = ROOT / "clients" / "python" / "examples" / "german-credit-outcomes.csv"
SPECIAL = -999
COMMA = "car or other, not in attribute Savings account/bonds"


def modelled() -> pd.DataFrame:
    """Applicants with `bad`, without a gap."""
    frame = applicants()
    frame["amount_per_month"] = frame["credit_amount"] / frame["duration_in_month"]
    outcomes = pd.read_csv(OUTCOMES, dtype={"id": str}).set_index("id")
    frame["bad"] = outcomes["bad"].reindex(frame.index)
    return frame


def with_gaps(frame: pd.DataFrame) -> pd.DataFrame:
    """Some amounts and housings are missing."""
    position = pd.Series(range(len(frame)), index=frame.index)
    return frame.assign(
        credit_amount=frame["credit_amount"].astype(float).mask(position % 17 == 3),
        housing=frame["housing"].mask(position % 23 == 5),
    )


def with_specials(frame: pd.DataFrame) -> pd.DataFrame:
    """Some durations are -999, which means that they are not known."""
    position = pd.Series(range(len(frame)), index=frame.index)
    return frame.assign(
        duration_in_month=frame["duration_in_month"].mask(position % 29 == 7, SPECIAL)
    )


def features(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.drop(columns="bad")


def texts(frame: pd.DataFrame) -> list[str]:
    """Columns of categories."""
    return [str(name) for name in frame.columns if not pd.api.types.is_numeric_dtype(frame[name])]
