"""Kinds of cards of toad, whose scores have all decimals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import toad

from matrix import Case
from outcome import features, with_gaps, with_specials


def cases(frame: pd.DataFrame) -> Iterator[Case]:
    both = with_specials(with_gaps(frame))
    empty: dict[str, Any] = {"empty_separate": True}
    missing: dict[str, Any] = {"unseen": "missing"}
    yield fit("decimal points", frame)
    yield fit("missing bins", with_gaps(frame), fit=empty, said=missing)
    edges = {"credit_amount": [1400.0, 1800.5, 4000.0, 9200.0], "age_in_years": [26, 35, 49]}
    yield fit("missing without a bin", with_gaps(frame), rules=edges)
    yield fit("missing bins and special values", both, fit=empty, said=missing)
    yield fit("categories with commas", frame, names=["property", "purpose", "housing"])
    yield fit(
        "another rate", frame, card={"rate": 3, "pdo": 45, "base_odds": 20, "base_score": 600}
    )
    yield fit("integer points", frame, is_rounded=True)
    rules = {"amount_per_month": [120.5, 150.25, 1e-05 + 200], "age_in_years": [26, 35, 49]}
    yield fit("rules by hand", frame, rules=rules)


def fit(
    kind: str,
    frame: pd.DataFrame,
    *,
    names: list[str] | None = None,
    fit: dict[str, Any] | None = None,
    card: dict[str, Any] | None = None,
    rules: dict[str, Any] | None = None,
    said: dict[str, Any] | None = None,
    is_rounded: bool = False,
) -> Case:
    chosen = list(rules) if rules else names
    inputs = features(frame)[chosen] if chosen else features(frame)
    data = inputs.assign(bad=frame["bad"])
    combiner = toad.transform.Combiner()
    if rules:
        combiner.load(rules)
    else:
        combiner.fit(data, y="bad", **{"method": "chi", "min_samples": 0.05, **(fit or {})})
    binned = combiner.transform(inputs)
    binned["bad"] = data["bad"]
    transer = toad.transform.WOETransformer()
    weights = transer.fit_transform(binned, binned["bad"], exclude=["bad"])
    made = toad.ScoreCard(combiner=combiner, transer=transer, C=0.5, **(card or {}))
    used = list(inputs.columns)
    made.fit(weights[used], weights["bad"])
    if is_rounded:
        # As modelers do: the exported card with whole numbers is loaded again.
        made = toad.ScoreCard(**(card or {})).load(made.export(decimal=0))
    return Case(kind, made, inputs, said or {})
