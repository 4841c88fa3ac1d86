"""Kinds of cards of optbinning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
from optbinning import BinningProcess, Scorecard
from sklearn.linear_model import LogisticRegression

from matrix import Case
from outcome import SPECIAL, features, texts, with_gaps, with_specials

PDO = {"pdo": 20, "odds": 50, "scorecard_points": 600}


def cases(frame: pd.DataFrame) -> Iterator[Case]:
    empirical = {"metric_missing": "empirical", "metric_special": "empirical"}
    special = {"special_codes": [SPECIAL]}
    named = {"special_codes": {"unknown": [SPECIAL], "refused": [-998]}}
    both = with_specials(with_gaps(frame))
    yield fit("decimal points", frame)
    yield fit("integer points", frame, rounding=True)
    yield fit("missing bins", with_gaps(frame), fit=empirical)
    yield fit("missing bins, default metric", with_gaps(frame))
    yield fit("special codes", with_specials(frame), process=special, fit=empirical)
    yield fit("named special codes", both, process=named, fit=empirical)
    cutoff = {name: {"cat_cutoff": 0.06} for name in ("purpose", "property")}
    yield fit("rare categories", both, process={**special, "binning_fit_params": cutoff})
    yield fit("categories with commas", frame, names=["property", "purpose", "housing"])
    yield fit("intercept-based, decimal", both, process=special, intercept_based=True)
    yield fit(
        "intercept-based, integer", both, process=special, intercept_based=True, rounding=True
    )
    min_max: dict[str, Any] = {
        "scaling_method": "min_max",
        "scaling_method_params": {"min": 300, "max": 850},
    }
    yield fit("min-max", frame, said={"probabilities": "fit"}, **min_max)
    yield fit("min-max, integer", frame, said={"probabilities": "none"}, rounding=True, **min_max)
    yield fit("reversed", frame, said={"probabilities": "fit"}, reverse_scorecard=True)
    yield fit("splits with many digits", frame, names=["amount_per_month"], fit={"show_digits": 0})


def fit(
    kind: str,
    frame: pd.DataFrame,
    *,
    names: list[str] | None = None,
    process: dict[str, Any] | None = None,
    fit: dict[str, Any] | None = None,
    said: dict[str, Any] | None = None,
    **options: Any,
) -> Case:
    inputs = features(frame)[names] if names else features(frame)
    categorical = texts(inputs)
    inputs = inputs.astype(dict.fromkeys(categorical, object))
    card = Scorecard(
        binning_process=BinningProcess(
            list(inputs.columns), categorical_variables=categorical, **(process or {})
        ),
        estimator=LogisticRegression(C=1.0, max_iter=1000),
        **{"scaling_method": "pdo_odds", "scaling_method_params": PDO, **options},
    )
    card.fit(inputs, frame["bad"], **(fit or {}))
    return Case(kind, card, inputs, said or {})
