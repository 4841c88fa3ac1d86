"""Kinds of cards of scorecardpy, whose points of variables are always whole numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import scorecardpy
from sklearn.linear_model import LogisticRegression

from matrix import Case
from outcome import SPECIAL, features, with_gaps, with_specials

SCALE = {"points0": 600, "odds0": 1 / 19, "pdo": 50}


def cases(frame: pd.DataFrame) -> Iterator[Case]:
    specials = {"duration_in_month": [SPECIAL]}
    both = with_specials(with_gaps(frame))
    yield fit("integer points", frame)
    yield fit("base points spread", frame, card={"basepoints_eq0": True})
    yield fit("missing bins", with_gaps(frame), said={"unseen": "missing"})
    yield fit("special codes", with_specials(frame), bins={"special_values": specials})
    yield fit(
        "missing bins and special codes",
        both,
        bins={"special_values": specials},
        said={"unseen": "missing"},
    )
    yield fit("categories with commas", frame, names=["property", "purpose", "housing"])
    yield fit("negative pdo", frame, card={"pdo": -50}, said={"pdo": -50})
    yield fit(
        "other scale", frame, card={"odds0": 1 / 60, "pdo": 20}, said={"odds0": 1 / 60, "pdo": 20}
    )


def fit(
    kind: str,
    frame: pd.DataFrame,
    *,
    names: list[str] | None = None,
    bins: dict[str, Any] | None = None,
    card: dict[str, Any] | None = None,
    said: dict[str, Any] | None = None,
) -> Case:
    inputs = features(frame)[names] if names else features(frame)
    data = inputs.assign(bad=frame["bad"])
    found = scorecardpy.woebin(data, y="bad", no_cores=1, print_info=False, **(bins or {}))
    weights = scorecardpy.woebin_ply(data, found, no_cores=1, print_info=False)
    used = sorted(name for name in weights.columns if name != "bad")
    model = LogisticRegression(C=0.9, max_iter=1000).fit(weights[used], weights["bad"])
    made = scorecardpy.scorecard(found, model, used, **{**SCALE, **(card or {})})
    return Case(kind, made, inputs, {**SCALE, **(said or {})})
